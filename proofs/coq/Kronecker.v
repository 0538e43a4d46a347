(* 5. Products of integer vectors by one big multiplication.

   A vector of integers is the polynomial with these coefficients; `mulv` is their product, the convolution.
   Kronecker's substitution computes it fast: write each vector as one number in base 2^W (`pack`), multiply, and
   read the digits (`unpack`).  If the product of the two sums is below 2^W no digit overflows, and the digits are
   the convolution (`product_ok`).  Packing and unpacking halve the problem at each of d levels.

   The big numbers are a parameter: zarith's in the extracted program, Bignums' BigN inside Coq.  All that is
   used of them is listed as hypotheses of the section. *)
Require Import ZArith List Lia Bool.
Import ListNotations.
Open Scope Z_scope.

(* ---------- vectors ---------- *)
Fixpoint addv (a b : list Z) : list Z :=
  match a, b with [], b => b | a, [] => a | x :: a, y :: b => (x + y) :: addv a b end.
Fixpoint mulv (a b : list Z) : list Z :=
  match a with [] => [] | x :: a => addv (map (Z.mul x) b) (0 :: mulv a b) end.
(* The number whose digits in base X are l, the lowest first. *)
Fixpoint pk (X : Z) (l : list Z) : Z := match l with [] => 0 | c :: l => c + X * pk X l end.
Fixpoint sumv (l : list Z) : Z := match l with [] => 0 | c :: l => c + sumv l end.
Definition nnv (l : list Z) := Forall (fun c => 0 <= c) l.
Definition digits (X : Z) (l : list Z) := Forall (fun c => 0 <= c < X) l.

Lemma pk_1 l : pk 1 l = sumv l.
Proof. induction l as [|c l IH]; cbn [pk sumv]; [auto|rewrite IH; ring]. Qed.
Lemma pk_addv X a b : pk X (addv a b) = pk X a + pk X b.
Proof. revert b; induction a as [|x a IH]; intros [|y b]; simpl; try ring. rewrite IH; ring. Qed.
Lemma pk_scal X c b : pk X (map (Z.mul c) b) = c * pk X b.
Proof. induction b as [|y b IH]; simpl; [ring|rewrite IH; ring]. Qed.
Lemma pk_mulv X a b : pk X (mulv a b) = pk X a * pk X b.
Proof. induction a as [|x a IH]; simpl; [ring|]. rewrite pk_addv, pk_scal; simpl; rewrite IH; ring. Qed.
Lemma sumv_mulv a b : sumv (mulv a b) = sumv a * sumv b.
Proof. rewrite <- !pk_1; apply pk_mulv. Qed.
Lemma pk_zeros X l n : pk X (l ++ repeat 0 n) = pk X l.
Proof. induction l as [|c l IH]; cbn [app pk].
  - induction n as [|n IH]; cbn [repeat pk]; [auto|rewrite IH; ring].
  - now rewrite IH. Qed.
Lemma nn_addv a b : nnv a -> nnv b -> nnv (addv a b).
Proof. intros Ha; revert b; induction Ha as [|x a Hx Ha IH]; intros b Hb; [exact Hb|].
  destruct Hb as [|y b Hy Hb]; simpl; constructor; auto; [lia|apply IH; auto]. Qed.
Lemma nn_mulv a b : nnv a -> nnv b -> nnv (mulv a b).
Proof. intros Ha Hb; induction Ha as [|x a Hx Ha IH]; simpl; [constructor|].
  apply nn_addv; [|constructor; auto; lia]. unfold nnv in *; rewrite Forall_map.
  eapply Forall_impl; [|apply Hb]; simpl; intros; lia. Qed.
Lemma sumv_ge0 l : nnv l -> 0 <= sumv l.
Proof. intros H; induction H; cbn [sumv]; lia. Qed.
Lemma le_sum l : nnv l -> Forall (fun c => 0 <= c <= sumv l) l.
Proof. intros H; induction H as [|c l Hc H IH]; constructor; cbn [sumv].
  - generalize (sumv_ge0 l H). lia.
  - eapply Forall_impl; [|apply IH]. cbn beta. intros; lia. Qed.
Lemma length_addv a b : length (addv a b) = Nat.max (length a) (length b).
Proof. revert b; induction a as [|x a IH]; intros [|y b]; simpl; auto. Qed.
Lemma length_mulv a b : (length (mulv a b) <= length a + length b)%nat.
Proof. induction a as [|x a IH]; cbn [mulv length]; [lia|]. rewrite length_addv, map_length; cbn [length]; lia. Qed.

(* ---------- digits determine the vector ---------- *)
Fixpoint up (X : Z) (n : nat) (v : Z) : list Z :=
  match n with O => [] | S n => (v mod X) :: up X n (v / X) end.
Lemma up_pk X l : digits X l -> up X (length l) (pk X l) = l.
Proof. intros H; induction H as [|c l Hc H IH]; simpl; [auto|].
  rewrite (Z.add_comm c), (Z.mul_comm X), Z.add_comm.
  rewrite Z_mod_plus_full, Z_div_plus_full by lia. rewrite Z.mod_small, Z.div_small by lia.
  simpl; now rewrite IH. Qed.
Lemma pk_inj X l m : digits X l -> digits X m -> length l = length m -> pk X l = pk X m -> l = m.
Proof. intros Hl Hm Hn H. rewrite <- (up_pk X l Hl), Hn, H. now apply up_pk. Qed.
Lemma pk_range X l : 0 < X -> digits X l -> 0 <= pk X l < X ^ Z.of_nat (length l).
Proof. intros HX H; induction H as [|c l Hc H IH]; cbn [pk length]; [cbn; lia|].
  rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia. nia. Qed.

Section Big.
Variable big : Type.
Variable val : big -> Z.
Variable of_Z : Z -> big.
Variable to_Z : big -> Z.
Variables add mul : big -> big -> big.
Variables shl low high : big -> Z -> big.  (* times 2^n; modulo 2^n; divided by 2^n *)
Hypothesis val_ge0 : forall b, 0 <= val b.
Hypothesis of_Z_ok : forall z, 0 <= z -> val (of_Z z) = z.
Hypothesis to_Z_ok : forall b, to_Z b = val b.
Hypothesis add_ok : forall a b, val (add a b) = val a + val b.
Hypothesis mul_ok : forall a b, val (mul a b) = val a * val b.
Hypothesis shl_ok : forall b n, 0 <= n -> val (shl b n) = val b * 2 ^ n.
Hypothesis low_ok : forall b n, 0 <= n -> val (low b n) = val b mod 2 ^ n.
Hypothesis high_ok : forall b n, 0 <= n -> val (high b n) = val b / 2 ^ n.

Notation pkb W l := (pk (2 ^ W) (map val l)).

Fixpoint pairs (W : Z) (l : list big) : list big :=
  match l with a :: b :: l => add a (shl b W) :: pairs W l | _ => l end.
Fixpoint horner (W : Z) (l : list big) : big :=
  match l with [] => of_Z 0 | [a] => a | a :: l => add a (shl (horner W l) W) end.
Fixpoint pack (d : nat) (W : Z) (l : list big) : big :=
  match d with O => horner W l | S d => pack d (2 * W) (pairs W l) end.
Definition halves (W : Z) (l : list big) : list big := flat_map (fun v => [low v W; high v W]) l.
Fixpoint unpack (d : nat) (W : Z) (v : big) : list big :=
  match d with O => [v] | S d => halves W (unpack d (2 * W) v) end.

Lemma two_pow W : 0 <= W -> 2 ^ (2 * W) = 2 ^ W * 2 ^ W.
Proof. intros; rewrite <- Z.pow_add_r by lia; f_equal; lia. Qed.
Lemma pairs_ok W l : 0 <= W -> pkb (2 * W) (pairs W l) = pkb W l.
Proof. intros HW. rewrite two_pow by auto. induction l as [l IH] using (well_founded_induction
    (Wf_nat.well_founded_ltof _ (@length big))). destruct l as [|a [|b l]]; auto; [cbn; ring|].
  cbn [pairs map pk]. rewrite IH by (unfold Wf_nat.ltof; cbn [length]; lia). rewrite add_ok, shl_ok by auto. ring. Qed.
Lemma horner_ok W l : 0 <= W -> val (horner W l) = pkb W l.
Proof. intros HW; induction l as [|a [|b l] IH].
  - cbn [horner map pk]. now apply of_Z_ok.
  - cbn [horner map pk]. ring.
  - change (horner W (a :: b :: l)) with (add a (shl (horner W (b :: l)) W)).
    rewrite add_ok, shl_ok, IH by auto. cbn [map pk]; ring. Qed.
Lemma pack_ok d : forall W l, 0 <= W -> val (pack d W l) = pkb W l.
Proof. induction d as [|d IH]; intros W l HW; cbn [pack]; [now apply horner_ok|].
  rewrite IH, pairs_ok by lia; auto. Qed.

Lemma halves_pk W l : 0 <= W -> pkb W (halves W l) = pkb (2 * W) l.
Proof. intros HW. rewrite two_pow by auto. induction l as [|v l IH]; [auto|].
  unfold halves in *; cbn [flat_map map app pk]. rewrite IH, low_ok, high_ok by auto.
  generalize (Z.div_mod (val v) (2 ^ W) ltac:(generalize (Z.pow_pos_nonneg 2 W); lia)). nia. Qed.
Lemma halves_digits W l : 0 <= W -> digits (2 ^ (2 * W)) (map val l) -> digits (2 ^ W) (map val (halves W l)).
Proof. intros HW; rewrite two_pow by auto. assert (P : 0 < 2 ^ W) by (apply Z.pow_pos_nonneg; lia).
  induction l as [|v l IH]; intros H; [constructor|]. inversion H as [|? ? Hv Hl]; subst.
  unfold halves in *; cbn [flat_map map app]. constructor; [|constructor; [|apply IH; auto]].
  - rewrite low_ok by auto. now apply Z.mod_pos_bound.
  - rewrite high_ok by auto. split; [apply Z.div_pos; lia|]. apply Z.div_lt_upper_bound; lia. Qed.
Lemma halves_length W l : length (halves W l) = (2 * length l)%nat.
Proof. unfold halves; induction l as [|v l IH]; cbn [flat_map app length]; [auto|rewrite IH; lia]. Qed.
Lemma unpack_length d : forall W v, length (unpack d W v) = (2 ^ d)%nat.
Proof. induction d as [|d IH]; intros; cbn [unpack]; [auto|]. rewrite halves_length, IH. cbn; lia. Qed.
Lemma unpack_ok d : forall W v, 0 <= W -> val v < 2 ^ (W * Z.of_nat (2 ^ d)) ->
  pkb W (unpack d W v) = val v /\ digits (2 ^ W) (map val (unpack d W v)).
Proof. induction d as [|d IH]; intros W v HW Hv.
  - cbn [unpack map pk]. split; [ring|]. constructor; [|constructor]. split; auto.
    now rewrite Z.mul_1_r in Hv.
  - cbn [unpack]. destruct (IH (2 * W) v) as [I1 I2]; [lia| |].
    + replace (2 * W * Z.of_nat (2 ^ d)) with (W * Z.of_nat (2 ^ S d)); [auto|].
      rewrite Nat.pow_succ_r', Nat2Z.inj_mul. lia.
    + split; [now rewrite halves_pk|now apply halves_digits]. Qed.

(* The product: slots of W bits, 2^d of them. *)
Definition product (a b : list Z) : list Z :=
  let W := Z.log2 (sumv a * sumv b) + 1 in
  let d := Nat.log2_up (length a + length b) in
  map to_Z (unpack d W (mul (pack d W (map of_Z a)) (pack d W (map of_Z b)))).

Lemma val_of_Z l : nnv l -> map val (map of_Z l) = l.
Proof. intros H; rewrite map_map; induction H as [|c l Hc H IH]; simpl; [auto|]. now rewrite of_Z_ok, IH. Qed.

Theorem product_ok a b : a <> [] -> b <> [] -> nnv a -> nnv b ->
  exists n, product a b = mulv a b ++ repeat 0 n.
Proof. intros Na Nb Ha Hb. unfold product.
  set (W := Z.log2 (sumv a * sumv b) + 1). set (d := Nat.log2_up (length a + length b)).
  set (v := mul _ _). assert (Sa := sumv_ge0 a Ha). assert (Sb := sumv_ge0 b Hb).
  assert (HW : 0 <= W) by (unfold W; generalize (Z.log2_nonneg (sumv a * sumv b)); lia).
  assert (HX : sumv a * sumv b < 2 ^ W).
  { destruct (Z.eq_dec (sumv a * sumv b) 0) as [->|Hn]; [apply Z.pow_pos_nonneg; lia|].
    apply Z.log2_spec; nia. }
  assert (Hd : (length a + length b <= 2 ^ d)%nat).
  { destruct a; [easy|]; destruct b; [easy|]. apply Nat.log2_up_spec; cbn [length]; lia. }
  assert (L := length_mulv a b). exists (2 ^ d - length (mulv a b))%nat. set (n := (2 ^ d - _)%nat).
  assert (V : val v = pk (2 ^ W) (mulv a b ++ repeat 0 n)).
  { unfold v. rewrite mul_ok, !pack_ok, !val_of_Z, pk_zeros, pk_mulv by auto. reflexivity. }
  assert (D : digits (2 ^ W) (mulv a b ++ repeat 0 n)).
  { apply Forall_app; split.
    - eapply Forall_impl; [|apply le_sum; now apply nn_mulv]. rewrite sumv_mulv. cbn beta; lia.
    - apply Forall_forall; intros x Hx; apply repeat_spec in Hx; subst. generalize (Z.pow_pos_nonneg 2 W); lia. }
  assert (N : length (mulv a b ++ repeat 0 n) = (2 ^ d)%nat)
    by (rewrite app_length, repeat_length; unfold n; lia).
  assert (B : val v < 2 ^ (W * Z.of_nat (2 ^ d))).
  { rewrite V, Z.pow_mul_r, <- N by lia. apply pk_range; auto. apply Z.pow_pos_nonneg; lia. }
  destruct (unpack_ok d W v HW B) as [U1 U2].
  rewrite (map_ext _ _ to_Z_ok). apply (pk_inj (2 ^ W)); auto.
  - rewrite map_length, unpack_length; auto.
  - now rewrite U1, V. Qed.
End Big.
