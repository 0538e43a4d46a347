(* Read one line problem over finitely many atoms, run the extracted line_atoms_ok, print "accepted" or "rejected".

   Words: the number of bits W; "above" or "below"; how many terms; steps; eps, c, the exponents right and left of c and
   the step of the frequencies, each as num den; how many frequencies; the number of atoms, and for each: num, den, mass;
   the error; the moments right and left; the bound of the transform beyond; the claimed bound.  Units are 2^-W. *)
let word () = Scanf.scanf " %s" (fun w -> if w = "" then failwith "less input than a problem" else w)
let number () =
  let w = word () in
  let z = Z.of_string w in
  if Z.to_string z = w then z else failwith ("number " ^ w)
let rational () =
  let num = number () in
  let den = number () in
  (num, den)

let read () =
  let bits = number () in
  if Z.sign bits < 0 then failwith "bits";
  let l_above = match word () with "above" -> true | "below" -> false | w -> failwith ("direction " ^ w) in
  let l_terms = number () in
  let l_steps = number () in
  if Z.sign l_steps <= 0 then failwith "steps";
  let l_eps = rational () in
  let l_c = rational () in
  let l_right = rational () in
  let l_left = rational () in
  let l_step = rational () in
  let l_count = number () in
  let l_atoms = List.init (Z.to_int (number ())) (fun _ -> let loss = rational () in let mass = number () in (loss, mass)) in
  let l_error = number () in
  let l_moment_right = number () in
  let l_moment_left = number () in
  let l_beyond = number () in
  let l_bound = number () in
  if Scanf.scanf " %s" (fun w -> w) <> "" then failwith "more input than a problem";
  bits, { Line_checker.l_above; l_terms; l_steps; l_eps; l_c; l_right; l_left; l_step; l_count; l_atoms; l_error;
          l_moment_right; l_moment_left; l_beyond; l_bound }

let () =
  match read () with
  | exception e -> prerr_endline ("not a problem: " ^ Printexc.to_string e); exit 2
  | bits, p ->
    let accepted = Line_checker.line_atoms_ok bits p in
    print_endline (if accepted then "accepted" else "rejected");
    exit (if accepted then 0 else 1)
