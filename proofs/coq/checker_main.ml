(* Read one problem from standard input, run the extracted checker, print its answer.

   The input is words: "above" or "below"; bits, count, eps_num, eps_den, h_num, h_den; the one-step law: low,
   mass at infinity, number of masses, the masses; the number of hints, and for each hint: first, last, sum,
   infinity; the bound. *)
let word () = Scanf.scanf " %s" (fun w -> w)
let number () = Z.of_string (word ())
let list item = List.init (Z.to_int (number ())) (fun _ -> item ())

let read () =
  let direction = match word () with "above" -> Checker.Above | "below" -> Checker.Below | w -> failwith ("direction " ^ w) in
  let bits = number () in
  let count = number () in
  let eps_num = number () in
  let eps_den = number () in
  let h_num = number () in
  let h_den = number () in
  let low = number () in
  let inf = number () in
  let mass = list number in
  let hint () =
    let first_index = number () in
    let last_index = number () in
    let sum = number () in
    let infinity = number () in
    { Checker.first_index; last_index; sum; infinity } in
  let hints = list hint in
  let bound = number () in
  if word () <> "" then failwith "more input than a problem";
  { Checker.direction; bits; count; eps_num; eps_den; h_num; h_den; step_law = { Checker.low; mass; inf }; hints; bound }

let () =
  match read () with
  | exception e -> prerr_endline ("not a problem: " ^ Printexc.to_string e); exit 2
  | p -> if Checker.accept_N p then print_endline "accepted" else (print_endline "rejected"; exit 1)
