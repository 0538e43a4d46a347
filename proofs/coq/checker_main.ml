(* Read one problem from standard input, run the extracted checker, print its answer: the problem that it decided, as it
   tells it (`told` in Extract.v), a row for each name and its numbers, and at last "accepted" or "rejected".
   In a browser's page there is no standard input: checker_page.ml asks.

   The input is words: "above" or "below"; bits, eps_num, eps_den, h_num, h_den; the number of kinds of steps, and for
   each kind: count, low, mass at infinity, number of masses, the masses; the number of hints, and for each hint: first,
   last, sum, infinity, coarser; the bound.  Then "remove", "add" or "none", and for each kind "given", or what its law must be
   found above (below) in that order; with no kinds at all, one such step, and its test is the event: "sampled", q_num,
   q_den, sigma_num, sigma_den, precision, terms, far, number of tests, the tests; or "replaced", the same; or, above only,
   "batch", number of tests in the order of a record added, these tests, and the same; or "guarantee" or
   "laplace", q_num, q_den, eps_num, eps_den, delta_num, delta_den, precision, terms; or "outputs", the same six numbers,
   how many outputs, their weights with the record and without it, precision, terms; or "discrete-laplace" or
   "discrete-gaussian", the same six numbers (the rate r of e^(-r |k|) or e^(-r k^2) in the place of eps), how far neighbours
   are apart, how far the window of whole numbers reaches, number of tests (none, above), the tests, precision, terms; or, with no kinds, "zcdp", rho_num, rho_den,
   xi_num, xi_den, l_num, l_den, precision, terms. *)
let input = ref Scanf.Scanning.stdin
let next () = Scanf.bscanf !input " %s" (fun w -> w)
let word () = match next () with "" -> failwith "less input than a problem" | w -> w
let number () =
  let w = word () in
  let z = Z.of_string w in
  if Z.to_string z = w then z else failwith ("number " ^ w)
let list item = List.init (Z.to_int (number ())) (fun _ -> item ())

let kind () =
  let count = number () in
  let low = number () in
  let inf = number () in
  let mass = list number in
  { Checker.count; step_law = { Checker.low; mass; inf } }

let hint () =
  let first_index = number () in
  let last_index = number () in
  let sum = number () in
  let infinity = number () in
  let coarser = number () in
  { Checker.first_index; last_index; sum; infinity; coarser }

let order () =
  match word () with
  | "remove" -> Some Checker.Remove
  | "add" -> Some Checker.Add
  | "none" -> None
  | w -> failwith ("order " ^ w)

let sampled_gaussian in_order =
  let q_num = number () in
  let q_den = number () in
  let sigma_num = number () in
  let sigma_den = number () in
  let precision = number () in
  let terms = number () in
  let far = number () in
  let tests = list number in
  { Checker.in_order; q_num; q_den; sigma_num; sigma_den; precision; terms; far; tests }

let guarantee source g_order =
  let g_q_num = number () in
  let g_q_den = number () in
  let g_eps_num = number () in
  let g_eps_den = number () in
  let g_delta_num = number () in
  let g_delta_den = number () in
  let g_source = source () in
  let g_precision = number () in
  let g_terms = number () in
  { Checker.g_source; g_order; g_q_num; g_q_den; g_eps_num; g_eps_den; g_delta_num; g_delta_den; g_precision; g_terms }

let outputs () =
  let ps = list number in
  let qs = List.map (fun _ -> number ()) ps in
  Checker.Outputs (ps, qs)

let discrete square () =
  let shift = number () in
  let reach = number () in
  let tests = list number in
  Checker.Whole (square, shift, reach, tests)

let zcdp z_order =
  let rho_num = number () in
  let rho_den = number () in
  let xi_num = number () in
  let xi_den = number () in
  let l_num = number () in
  let l_den = number () in
  let z_precision = number () in
  let z_terms = number () in
  { Checker.z_order; rho_num; rho_den; xi_num; xi_den; l_num; l_den; z_precision; z_terms }

let source order =
  match word (), order with
  | "given", _ -> None
  | "sampled", Some order -> Some (Checker.Gaussian (sampled_gaussian order))
  | "replaced", Some order -> Some (Checker.Replacement (sampled_gaussian order))
  | "batch", Some order ->
      let added = list number in
      Some (Checker.Batch (sampled_gaussian order, added))
  | "guarantee", Some order -> Some (Checker.Guarantee (guarantee (fun () -> Checker.Any) order))
  | "laplace", Some order -> Some (Checker.Guarantee (guarantee (fun () -> Checker.Laplace_noise) order))
  | "outputs", Some order -> Some (Checker.Guarantee (guarantee outputs order))
  | "discrete-laplace", Some order -> Some (Checker.Guarantee (guarantee (discrete false) order))
  | "discrete-gaussian", Some order -> Some (Checker.Guarantee (guarantee (discrete true) order))
  | "zcdp", Some order -> Some (Checker.Zcdp (zcdp order))
  | w, _ -> failwith ("source " ^ w)

let read () =
  let direction = match word () with "above" -> Checker.Above | "below" -> Checker.Below | w -> failwith ("direction " ^ w) in
  let bits = number () in
  let eps_num = number () in
  let eps_den = number () in
  let h_num = number () in
  let h_den = number () in
  let kinds = list kind in
  let hints = list hint in
  let bound = number () in
  let order = order () in
  let sources = List.init (max 1 (List.length kinds)) (fun _ -> source order) in
  if next () <> "" then failwith "more input than a problem";
  (order, { Checker.direction; bits; eps_num; eps_den; h_num; h_den; kinds; hints; bound }, sources)

let row (name, numbers) = String.concat " " (name :: List.map Z.to_string numbers)

(* The rows of the answer. Raises where the input is not a problem. *)
let answer () =
  let order, p, sources = read () in
  let told, accepted = Checker.answer order p sources in
  List.map row told @ [if accepted then "accepted" else "rejected"], accepted

let () =
  match Sys.backend_type with
  | Sys.Other _ -> ()
  | _ ->
    match answer () with
    | exception e -> prerr_endline ("not a problem: " ^ Printexc.to_string e); exit 2
    | rows, accepted -> List.iter print_endline rows; exit (if accepted then 0 else 1)
