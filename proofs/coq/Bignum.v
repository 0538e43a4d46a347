(* 17. The checker inside Coq: the big numbers are Bignums' BigN, on Coq's 63-bit machine integers.

   Coq's own axioms on these integers (Uint63) are what vm_compute adds to the assumptions. *)
Require Import Reals ZArith List Lia.
From Bignums Require Import BigN.
From VerifiedDP Require Import Law Kronecker Checker Link.
Import ListNotations.
Open Scope Z_scope.

Definition of_Z_B (z : Z) : BigN.t := BigN.of_N (Z.to_N z).
Definition shl_B (b : BigN.t) (n : Z) : BigN.t := BigN.shiftl b (of_Z_B n).
Definition high_B (b : BigN.t) (n : Z) : BigN.t := BigN.shiftr b (of_Z_B n).
Definition low_B (b : BigN.t) (n : Z) : BigN.t := BigN.sub b (shl_B (high_B b n) n).
Definition product_B : list Z -> list Z -> list Z :=
  product BigN.t of_Z_B BigN.to_Z BigN.add BigN.mul shl_B low_B high_B.
Definition accept_B : problem -> bool := accept product_B.

Lemma of_Z_B_ok z : 0 <= z -> BigN.to_Z (of_Z_B z) = z.
Proof. intros. unfold of_Z_B. rewrite BigN.spec_of_N. now apply Z2N.id. Qed.
Lemma shl_B_ok b n : 0 <= n -> BigN.to_Z (shl_B b n) = BigN.to_Z b * 2 ^ n.
Proof. intros. unfold shl_B. rewrite BigN.spec_shiftl, of_Z_B_ok by auto. now apply Z.shiftl_mul_pow2. Qed.
Lemma high_B_ok b n : 0 <= n -> BigN.to_Z (high_B b n) = BigN.to_Z b / 2 ^ n.
Proof. intros. unfold high_B. rewrite BigN.spec_shiftr, of_Z_B_ok by auto. now apply Z.shiftr_div_pow2. Qed.
Lemma low_B_ok b n : 0 <= n -> BigN.to_Z (low_B b n) = BigN.to_Z b mod 2 ^ n.
Proof. intros. assert (P : 0 < 2 ^ n) by (apply Z.pow_pos_nonneg; lia).
  assert (D := Z.div_mod (BigN.to_Z b) (2 ^ n) ltac:(lia)). assert (M := Z.mod_pos_bound (BigN.to_Z b) (2 ^ n) P).
  unfold low_B. rewrite BigN.spec_sub, shl_B_ok, high_B_ok by auto. lia. Qed.
Lemma product_B_ok a b : a <> [] -> b <> [] -> nnv a -> nnv b ->
  exists n, product_B a b = mulv a b ++ repeat 0 n.
Proof. apply product_ok with (val := BigN.to_Z); auto using BigN.spec_pos, of_Z_B_ok, BigN.spec_add, BigN.spec_mul,
  shl_B_ok, low_B_ok, high_B_ok. Qed.

Theorem accepted_B_above p : accept_B p = true -> direction p = Above ->
  (delta (epsilon_of p) (composed p) <= IZR (bound p) / unit_of p)%R.
Proof. apply accept_above, product_B_ok. Qed.
Theorem accepted_B_below p : accept_B p = true -> direction p = Below ->
  (IZR (bound p) / unit_of p <= delta (epsilon_of p) (composed p))%R.
Proof. apply accept_below, product_B_ok. Qed.
