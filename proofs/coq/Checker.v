(* 7. The checker: a program on integers, which Extract.v turns into OCaml.

   An integer law is a list of masses w_0, w_1, ... (integers >= 0) at the losses h*low, h*(low+1), ..., and a
   mass at infinity, all in units of 2^-B.  From the law of one step the program composes k steps by binary
   powering, and steps of several kinds kind by kind.  One product is: multiply, cut to a window, shift by B bits.
     Above:  what is cut goes to infinity, and the shift rounds up;     (the result dominates)
     Below:  what is cut is dropped, and the shift rounds down.         (the result is dominated)
   Then it adds up delta with integer bounds of 2^B (1 - e^(eps - h i)).  Link.v proves what acceptance means.

   Each product comes with a hint: the window, and what the checker will find in it, the sum of the masses and
   the mass at infinity.  The window is a free choice; that the rest must be equal makes an altered hint visible. *)
Require Import ZArith List Bool.
From VerifiedDP Require Import Kronecker Exponential.
Import ListNotations.
Open Scope Z_scope.

Inductive side := Above | Below.
Record ilaw := { low : Z; mass : list Z; inf : Z }.
Record hint := { first_index : Z; last_index : Z; sum : Z; infinity : Z }.
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

Section Checker.
Variable product : list Z -> list Z -> list Z.

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
Definition next (s : side) (B : Z) (a b : ilaw) (hs : list hint) : option (ilaw * list hint) :=
  match hs with
  | [] => None
  | t :: hs => match step s B a b t with Some c => Some (c, hs) | None => None end
  end.
Fixpoint power (s : side) (B : Z) (a : ilaw) (k : positive) (hs : list hint) : option (ilaw * list hint) :=
  match k with
  | xH => Some (a, hs)
  | xO k => match power s B a k hs with Some (v, hs) => next s B v v hs | None => None end
  | xI k => match power s B a k hs with
            | Some (v, hs) => match next s B v v hs with Some (v, hs) => next s B v a hs | None => None end
            | None => None end
  end.

(* ---------- all kinds: the first one's power, then all of the others, then their product ---------- *)
Fixpoint series (s : side) (B : Z) (ks : list kind) (hs : list hint) : option (ilaw * list hint) :=
  match ks with
  | {| count := Zpos n; step_law := a |} :: ks =>
      match power s B a n hs, ks with
      | done, [] => done
      | Some (v, hs), _ => match series s B ks hs with Some (r, hs) => next s B v r hs | None => None end
      | None, _ => None
      end
  | _ => None
  end.

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
Definition accept (p : problem) : bool :=
  well_formed p &&
  match series (direction p) (bits p) (kinds p) (hints p) with Some (v, []) => delta_bound p v =? bound p | _ => false end.
End Checker.
