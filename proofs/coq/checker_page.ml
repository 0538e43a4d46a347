(* The same program as a function of a page's script: its argument is a problem, its value the answer, both are texts. *)
let () =
  Callback.register "formal checker" (fun problem ->
    Checker_main.input := Scanf.Scanning.from_string problem;
    String.concat "\n" (fst (Checker_main.answer ())))
