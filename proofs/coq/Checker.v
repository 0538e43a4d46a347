(* 7. The checker: a program on integers, which Extract.v turns into OCaml.

   An integer law is a list of masses w_0, w_1, ... (integers >= 0) at the losses h*low, h*(low+1), ..., and a
   mass at infinity, all in units of 2^-B.  From the law of one step the program composes k steps by binary
   powering, and steps of several kinds kind by kind.  One product is: multiply, cut to a window, shift by B bits.
     Above:  what is cut goes to infinity, and the shift rounds up;     (the result dominates)
     Below:  what is cut is dropped, and the shift rounds down.         (the result is dominated)
   Then it adds up delta with integer bounds of 2^B (1 - e^(eps - h i)).  Link.v proves what acceptance means.

   Each product comes with a hint: the window, and what the checker will find in it, the sum of the masses and
   the mass at infinity.  The window is a free choice; that the rest must be equal makes an altered hint visible.
   Above, a hint may also ask that what was found goes on to a grid so many times coarser, each mass to the two points
   around it; then later laws are put on that grid, too. *)
Require Import ZArith List Bool.
From VerifiedDP Require Import Kronecker Exponential.
Import ListNotations.
Open Scope Z_scope.

Inductive side := Above | Below.
Record ilaw := { low : Z; mass : list Z; inf : Z }.
Record hint := { first_index : Z; last_index : Z; sum : Z; infinity : Z; coarser : Z }.
(* a law on the grid whose step is so many times h *)
Definition scaled := (Z * ilaw)%type.
(* `count` steps with this law *)
Record kind := { count : Z; step_law : ilaw }.
(* delta of all steps at eps = eps_num / eps_den on the grid of step h = h_num / h_den is at most (Above) or at least
   (Below) bound * 2^-bits *)
Record problem := {
  direction : side; bits : Z; eps_num : Z; eps_den : Z; h_num : Z; h_den : Z;
  kinds : list kind; hints : list hint; bound : Z }.

Definition fin (v : ilaw) := sumv (mass v).
Definition total (v : ilaw) := inf v + fin v.

(* z / 2^B for z >= 0, rounded to the safe side; 2^B *)
Definition pow2 (B : Z) : Z := Z.of_N (N.shiftl 1 (Z.to_N B)).
Definition shr (B z : Z) : Z := Z.of_N (N.shiftr (Z.to_N z) (Z.to_N B)).
Definition quotient (s : side) (B z : Z) : Z :=
  match s with Above => shr B (z + (pow2 B - 1)) | Below => shr B z end.
Definition opposite (s : side) := match s with Above => Below | Below => Above end.

(* ---------- onto a coarser grid ---------- *)
(* Cells of n steps of p / q: of a mass at the place r of a cell, this share goes to the cell's start, and the rest to
   its end; at most 2^B (e^(-r p/q) - e^(-n p/q)) / (1 - e^(-n p/q)). *)
Definition shares_of (B p q n : Z) : list Z :=
  let E := exp_above B (p * n) q in
  pow2 B :: map (fun r => Z.max 0 (pow2 B * (exp_below B (p * Z.of_nat r) q - E) / (pow2 B - E))) (seq 1 (Z.to_nat n - 1)).
(* ws: the shares of a cell, rest: those of the places that are left of this one; start, next: what its ends have so far *)
Fixpoint spread (B : Z) (ws rest : list Z) (start next : Z) (l : list Z) : list Z :=
  match l, rest with
  | [], _ => [start; next]
  | m :: l, w :: rest => let k := shr B (m * w) in spread B ws rest (start + k) (next + (m - k)) l
  | m :: l, [] => start :: match ws with w :: rest => let k := shr B (m * w) in spread B ws rest (next + k) (m - k) l | [] => [] end
  end.
(* the law on the grid of p / q, on that of n p / q *)
Definition coarsen (s : side) (B p q n : Z) (v : ilaw) : option ilaw :=
  if n =? 1 then Some v else
  match s with
  | Below => None
  | Above =>
      let ws := shares_of B p q n in
      if (1 <? n) && (exp_above B (p * n) q <? pow2 B)
      then Some {| low := low v / n; mass := spread B ws (skipn (Z.to_nat (low v mod n)) ws) 0 0 (mass v); inf := inf v |}
      else None
  end.

Section Checker.
Variable product : list Z -> list Z -> list Z.
(* the grid's step is p / q *)
Variables p q : Z.

(* ---------- one product ---------- *)
Definition ends_ok (l : list Z) : bool := negb (hd 0 l =? 0) && negb (List.last l 0 =? 0).
Definition step (s : side) (B : Z) (a b : ilaw) (t : hint) : option ilaw :=
  let c := product (mass a) (mass b) in
  let rest := skipn (Z.to_nat (first_index t - (low a + low b))) c in
  let left := firstn (Z.to_nat (first_index t - (low a + low b))) c in
  let width := Z.to_nat (last_index t - first_index t + 1) in
  let middle := map (quotient s B) (firstn width rest) in
  let lost := match s with Above => sumv left + sumv (skipn width rest) | Below => 0 end in
  let i := quotient s B (inf a * total b + fin a * inf b + lost) in
  if (low a + low b <=? first_index t) && (first_index t <=? last_index t) && Nat.eqb (length middle) width && ends_ok middle
     && (sumv middle =? sum t) && (i =? infinity t)
  then Some {| low := first_index t; mass := middle; inf := i |} else None.

(* ---------- k steps ---------- *)
Definition on_scale (s : side) (B c : Z) (a : scaled) : option ilaw :=
  if c mod fst a =? 0 then coarsen s B (p * fst a) q (c / fst a) (snd a) else None.
Definition next (s : side) (B : Z) (a b : scaled) (hs : list hint) : option (scaled * list hint) :=
  let c := Z.max (fst a) (fst b) in
  match hs, on_scale s B c a, on_scale s B c b with
  | t :: hs, Some a, Some b =>
      match step s B a b t with
      | Some v => match coarsen s B (p * c) q (coarser t) v with Some v => Some ((c * coarser t, v), hs) | None => None end
      | None => None end
  | _, _, _ => None
  end.
Fixpoint power (s : side) (B : Z) (a : scaled) (k : positive) (hs : list hint) : option (scaled * list hint) :=
  match k with
  | xH => Some (a, hs)
  | xO k => match power s B a k hs with Some (v, hs) => next s B v v hs | None => None end
  | xI k => match power s B a k hs with
            | Some (v, hs) => match next s B v v hs with Some (v, hs) => next s B v a hs | None => None end
            | None => None end
  end.

(* ---------- all kinds: the first one's power, then all of the others, then their product ---------- *)
Fixpoint series (s : side) (B : Z) (ks : list kind) (hs : list hint) : option (scaled * list hint) :=
  match ks with
  | {| count := Zpos n; step_law := a |} :: ks =>
      match power s B (1, a) n hs, ks with
      | done, [] => done
      | Some (v, hs), _ => match series s B ks hs with Some (r, hs) => next s B v r hs | None => None end
      | None, _ => None
      end
  | _ => None
  end.

End Checker.

(* ---------- delta of an integer law ---------- *)
(* g: a bound of 2^B e^(eps - loss) at the first mass, r: one of 2^B e^-h *)
Definition weight (s : side) (B g : Z) : Z := match s with Above => pow2 B - g | Below => Z.max 0 (pow2 B - g) end.
Fixpoint weighted (s : side) (B r g : Z) (l : list Z) : Z :=
  match l with
  | [] => 0
  | m :: l => m * weight s B g + weighted s B r (quotient (opposite s) B (g * r)) l
  end.
Definition exp_bound (s : side) (B p q : Z) : Z := match s with Above => exp_below B p q | Below => exp_above B p q end.
(* the first index with h * index > eps, and the masses from there on *)
Definition beyond (p : problem) : Z := eps_num p * h_den p / (eps_den p * h_num p) + 1.
Definition masses_from (i : Z) (v : ilaw) : list Z :=
  if i <=? low v then repeat 0 (Z.to_nat (low v - i)) ++ mass v else skipn (Z.to_nat (i - low v)) (mass v).
Definition delta_bound (p : problem) (v : ilaw) : Z :=
  let s := direction p in let B := bits p in let i := beyond p in
  let g := exp_bound s B (h_num p * i * eps_den p - eps_num p * h_den p) (h_den p * eps_den p) in
  inf v + quotient s B (weighted s B (exp_bound s B (h_num p) (h_den p)) g (masses_from i v)).

(* ---------- the whole check ---------- *)
Definition proper (v : ilaw) : bool :=
  forallb (Z.leb 0) (mass v) && negb (Nat.eqb (length (mass v)) 0) && (0 <=? inf v).
Definition well_formed (p : problem) : bool :=
  (0 <? bits p) && (0 <? eps_den p) && (0 <? h_num p) && (0 <? h_den p) && forallb (fun k => proper (step_law k)) (kinds p).
(* the problem on the grid of c times its step *)
Definition on_grid (p : problem) (c : Z) : problem :=
  {| direction := direction p; bits := bits p; eps_num := eps_num p; eps_den := eps_den p; h_num := h_num p * c; h_den := h_den p;
     kinds := kinds p; hints := hints p; bound := bound p |}.
(* The last law stays as it is: delta at a point of both grids would not tell. *)
Definition same_grid := {| first_index := 0; last_index := 0; sum := 0; infinity := 0; coarser := 1 |}.
Definition accept (product : list Z -> list Z -> list Z) (p : problem) : bool :=
  well_formed p && (coarser (List.last (hints p) same_grid) =? 1) &&
  match series product (h_num p) (h_den p) (direction p) (bits p) (kinds p) (hints p) with
  | Some ((c, v), []) => delta_bound (on_grid p c) v =? bound p
  | _ => false
  end.
