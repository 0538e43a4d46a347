(* 8. What acceptance means.

   `law_of h s v` is the privacy-loss law that an integer law v stands for.  Each operation of the checker is a
   move that Law.v knows to be safe, so that
     accept_above:  an accepted problem with direction Above has  delta eps (composed law) <= bound / 2^B,
     accept_below:  one with direction Below has                  bound / 2^B <= delta eps (composed law),
   where the composed law is that of all steps of all kinds of the problem, whatever the hints are. *)
Require Import Reals List Lra Lia ZArith Bool.
From VerifiedDP Require Import Law ConnectTheDots Kronecker Exponential Checker.
Import ListNotations.
Open Scope R_scope.

Fixpoint atoms (h s : R) (i : Z) (l : list Z) : list (R * R) :=
  match l with [] => [] | m :: l => (h * IZR i, IZR m / s) :: atoms h s (i + 1) l end.
Definition law_of (h s : R) (v : ilaw) : law := (atoms h s (low v) (mass v), IZR (inf v) / s).

(* ---------- sums over atoms ---------- *)
Section Atoms.
Variables (h s : R).
Hypothesis Hs : 0 < s.
Lemma E_addv f a : forall b i, E f (atoms h s i (addv a b)) = E f (atoms h s i a) + E f (atoms h s i b).
Proof. induction a as [|x a IH]; intros [|y b] i; cbn [addv atoms E fst snd]; try ring.
  rewrite IH, plus_IZR. unfold Rdiv; ring. Qed.
Lemma E_scale f c l : forall i, E f (atoms h s i (map (Z.mul c) l)) = IZR c * E f (atoms h s i l).
Proof. induction l as [|m l IH]; intros i; cbn [map atoms E fst snd]; [ring|].
  rewrite IH, mult_IZR. unfold Rdiv; ring. Qed.
Lemma E_atoms_app f a b : forall i, E f (atoms h s i (a ++ b)) = E f (atoms h s i a) + E f (atoms h s (i + Z.of_nat (length a)) b).
Proof. induction a as [|x a IH]; intros i; cbn [app atoms E fst snd length].
  - rewrite Z.add_0_r; ring.
  - rewrite IH. replace (i + 1 + Z.of_nat (length a))%Z with (i + Z.of_nat (S (length a)))%Z by lia. ring. Qed.
Lemma E_zeros f n : forall i, E f (atoms h s i (repeat 0%Z n)) = 0.
Proof. induction n as [|n IH]; intros i; cbn [repeat atoms E fst snd]; [auto|]. rewrite IH. unfold Rdiv; ring. Qed.
Lemma E_one_atoms l : forall i, E one (atoms h s i l) = IZR (sumv l) / s.
Proof. induction l as [|m l IH]; intros i; cbn [atoms E fst snd sumv]; [unfold Rdiv; ring|].
  rewrite IH, plus_IZR. unfold one, Rdiv; ring. Qed.
Lemma nn_atoms l : nnv l -> forall i, nn (atoms h s i l).
Proof. intros H; induction H as [|m l Hm H IH]; intros i; cbn [atoms]; constructor; auto; [|apply IH].
  apply Rmult_le_pos; [now apply IZR_le|left; now apply Rinv_0_lt_compat]. Qed.
Lemma E_atoms_range f l i : nnv l -> (forall z, 0 <= f z <= 1) -> 0 <= E f (atoms h s i l) <= IZR (sumv l) / s.
Proof. intros Hl Hf; split; [apply E_ge0; [now apply nn_atoms|apply Hf]|].
  rewrite <- (E_one_atoms l i). apply E_le; [now apply nn_atoms|]. intros z; unfold one; apply Hf. Qed.
End Atoms.

(* Coefficients of the product of two polynomials are the masses of a sum of two losses. *)
Lemma E_rescale f h s t i j l : s <> 0 -> t <> 0 ->
  E f (atoms h (s * t) (i + j) l) = / s * E (fun y => f (h * IZR i + y)) (atoms h t j l).
Proof. intros S0 T0. revert j; induction l as [|m l IH]; intros j; cbn [atoms E fst snd]; [ring|].
  replace (i + j + 1)%Z with (i + (j + 1))%Z by ring. rewrite IH, plus_IZR.
  replace (h * (IZR i + IZR j)) with (h * IZR i + h * IZR j) by ring. field; auto. Qed.
Lemma E_mulv f h s t b j : s <> 0 -> t <> 0 -> forall a i,
  E f (atoms h (s * t) (i + j) (mulv a b)) = E (fun z => E (fun y => f (z + y)) (atoms h t j b)) (atoms h s i a).
Proof. intros S0 T0. induction a as [|x a IH]; intros i; cbn [mulv atoms E fst snd]; [auto|].
  rewrite E_addv, E_scale, E_rescale by auto. cbn [atoms E fst snd].
  replace (i + j + 1)%Z with ((i + 1) + j)%Z by ring. rewrite IH. unfold Rdiv; ring. Qed.

(* ---------- rounding ---------- *)
Lemma pow2_ok B : (0 <= B)%Z -> pow2 B = (2 ^ B)%Z.
Proof. intros. unfold pow2. rewrite N.shiftl_mul_pow2, N2Z.inj_mul, N2Z.inj_pow, Z2N.id by lia.
  change (Z.of_N 1) with 1%Z. change (Z.of_N 2) with 2%Z. lia. Qed.
Lemma shr_ok B z : (0 <= B)%Z -> (0 <= z)%Z -> shr B z = (z / 2 ^ B)%Z.
Proof. intros. unfold shr. rewrite N.shiftr_div_pow2, N2Z.inj_div, N2Z.inj_pow, !Z2N.id by lia. reflexivity. Qed.
Definition safe (d : side) (x y : R) := match d with Above => x <= y | Below => y <= x end.
Lemma quotient_ok d B z : (0 <= B)%Z -> (0 <= z)%Z ->
  (0 <= quotient d B z)%Z /\ safe d (IZR z / IZR (2 ^ B)) (IZR (quotient d B z)).
Proof. intros HB Hz. assert (P : (0 < 2 ^ B)%Z) by (apply Z.pow_pos_nonneg; lia).
  assert (PR : 0 < IZR (2 ^ B)) by now apply IZR_lt.
  destruct d; unfold quotient, safe; rewrite ?pow2_ok, shr_ok by lia.
  - split; [apply Z.div_pos; lia|]. apply Rmult_le_reg_r with (IZR (2 ^ B)); auto.
    unfold Rdiv; rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. rewrite <- mult_IZR. apply IZR_le.
    generalize (Z.mul_succ_div_gt (z + (2 ^ B - 1)) (2 ^ B) P). nia.
  - split; [apply Z.div_pos; lia|apply div_le; auto]. Qed.

(* ---------- a law on the safe side of another ---------- *)
Definition on_side (d : side) (A B : law) := match d with Above => dom A B | Below => dom B A end.
Lemma on_side_refl d A : on_side d A A.
Proof. destruct d; apply dom_refl. Qed.
Lemma on_side_trans d A B C : on_side d A B -> on_side d B C -> on_side d A C.
Proof. destruct d; simpl; eauto using dom_trans. Qed.
Lemma on_side_same d A B : same A B -> on_side d A B.
Proof. destruct d; simpl; auto using same_dom, same_sym. Qed.
Lemma on_side_conv d A A' B B' : nonneg A -> nonneg A' -> nonneg B -> nonneg B' ->
  on_side d A A' -> on_side d B B' -> on_side d (conv A B) (conv A' B').
Proof. destruct d; simpl; intros; apply dom_conv; auto. Qed.
Lemma on_side_delta d A B eps : on_side d A B -> safe d (delta eps A) (delta eps B).
Proof. destruct d; intros [H _]; apply H. Qed.
(* It is enough to compare the integrals of all functions with values in [0, 1]. *)
Definition I (f : R -> R) (A : law) := snd A + E f (fst A).
Lemma on_side_I d A B : (forall f, (forall z, 0 <= f z <= 1) -> safe d (I f A) (I f B)) -> on_side d A B.
Proof. intros H. assert (W : forall e z, 0 <= w e z <= 1) by (intros; split; [apply w_ge0|apply w_le1]).
  assert (O : forall z, 0 <= one z <= 1) by (intros; unfold one; lra).
  destruct d; (split; [intros e; apply (H (w e)); auto|apply (H one); auto]). Qed.

Section Sound.
Variable product : list Z -> list Z -> list Z.
Hypothesis product_spec : forall a b, a <> [] -> b <> [] -> nnv a -> nnv b ->
  exists n, product a b = mulv a b ++ repeat 0%Z n.
Variables (h : R) (B : Z).
Hypothesis HB : (0 < B)%Z.
Let s := IZR (2 ^ B).
Let L := law_of h s.
Local Lemma Hs : 0 < s.
Proof. apply IZR_lt, Z.pow_pos_nonneg; lia. Qed.
Local Hint Resolve Hs : core.

Definition good (v : ilaw) := mass v <> [] /\ nnv (mass v) /\ (0 <= inf v)%Z.
Lemma good_nonneg v : good v -> nonneg (L v).
Proof. intros [_ [H1 H2]]; split; [now apply nn_atoms|].
  apply Rmult_le_pos; [now apply IZR_le|left; now apply Rinv_0_lt_compat]. Qed.

Lemma I_conv f a b : I f (conv (L a) (L b)) =
  IZR (inf a * total b + fin a * inf b) / (s * s) + E f (atoms h (s * s) (low a + low b) (mulv (mass a) (mass b))).
Proof. unfold I, conv, tot, L, law_of; cbn [fst snd]. generalize Hs; intros.
  rewrite E_mulv, E_conv, !E_one_atoms by lra. unfold total, fin. rewrite plus_IZR, !mult_IZR, plus_IZR. field; lra. Qed.

Lemma E_round d f l : nnv l -> (forall z, 0 <= f z <= 1) -> forall i,
  safe d (E f (atoms h (s * s) i l)) (E f (atoms h s i (map (quotient d B) l))).
Proof. intros Hl Hf. assert (S := Hs). induction Hl as [|m l Hm Hl IH]; intros i; cbn [map atoms E fst snd].
  - destruct d; simpl; lra.
  - destruct (quotient_ok d B m ltac:(lia) Hm) as [_ Q]. fold s in Q. specialize (IH (i + 1)%Z).
    assert (F := proj1 (Hf (h * IZR i))).
    assert (X : IZR m / (s * s) = IZR m / s / s) by (field; lra). rewrite X.
    assert (V : 0 < / s) by now apply Rinv_0_lt_compat.
    destruct d; simpl in *; apply Rplus_le_compat; auto; apply Rmult_le_compat_r; auto;
      unfold Rdiv in *; apply Rmult_le_compat_r; lra. Qed.
Lemma nn_round d l : nnv l -> nnv (map (quotient d B) l).
Proof. intros H; unfold nnv in *; rewrite Forall_map. eapply Forall_impl; [|apply H].
  intros m Hm; now apply quotient_ok; try lia. Qed.
Lemma nn_split n l : nnv l -> nnv (firstn n l) /\ nnv (skipn n l).
Proof. intros H; unfold nnv. rewrite <- Forall_app, firstn_skipn. exact H. Qed.

(* One product of the checker. *)
Theorem step_ok d a b t c : good a -> good b -> step product d B a b t = Some c ->
  good c /\ on_side d (conv (L a) (L b)) (L c).
Proof. intros [Na [Ha Ia]] [Nb [Hb Ib]] H. unfold step in H.
  destruct (product_spec (mass a) (mass b) Na Nb Ha Hb) as [z P]. rewrite P in H. clear P.
  set (v := mulv (mass a) (mass b) ++ repeat 0%Z z) in *.
  set (n := Z.to_nat (first_index t - (low a + low b))) in *. set (m := Z.to_nat (last_index t - first_index t + 1)) in *.
  destruct (_ && _) eqn:C in H; [|easy]. injection H as <-.
  repeat (apply andb_prop in C as [C ?]). apply Z.leb_le in C.
  assert (Hv : nnv v).
  { apply Forall_app; split; [now apply nn_mulv|]. apply Forall_forall; intros x Hx; apply repeat_spec in Hx; lia. }
  destruct (nn_split n v Hv) as [V1 V2]. destruct (nn_split m (skipn n v) V2) as [V3 V4].
  set (lost := match d with Above => _ | Below => _ end).
  assert (Hlost : (0 <= lost)%Z).
  { unfold lost; destruct d; [|lia]. generalize (sumv_ge0 _ V1) (sumv_ge0 _ V4); lia. }
  set (i := (inf a * total b + fin a * inf b)%Z).
  assert (Hi : (0 <= i)%Z).
  { unfold i, total, fin. generalize (sumv_ge0 _ Ha) (sumv_ge0 _ Hb). nia. }
  destruct (quotient_ok d B (i + lost) ltac:(lia) ltac:(lia)) as [Q1 Q2]. fold s in Q2.
  split.
  { split; [|split]; cbn [mass inf]; auto using nn_round.
    intros N. match goal with X : ends_ok _ = true |- _ => rewrite N in X; discriminate X end. }
  apply on_side_I; intros f Hf. rewrite I_conv. fold i.
  unfold I, L, law_of; cbn [fst snd low mass inf].
  assert (S := Hs). assert (S2 : 0 < s * s) by now apply Rmult_lt_0_compat.
  assert (PL : (first_index t = low a + low b + Z.of_nat (length (firstn n v)) \/ skipn n v = [])%Z).
  { destruct (Nat.le_gt_cases n (length v)) as [G|G].
    - left. rewrite firstn_length_le by auto. unfold n. lia.
    - right. apply skipn_all2; lia. }
  assert (EV : E f (atoms h (s * s) (low a + low b) (mulv (mass a) (mass b))) =
    E f (atoms h (s * s) (low a + low b) (firstn n v)) + (E f (atoms h (s * s) (first_index t) (firstn m (skipn n v)))
    + E f (atoms h (s * s) (first_index t + Z.of_nat (length (firstn m (skipn n v)))) (skipn m (skipn n v))))).
  { transitivity (E f (atoms h (s * s) (low a + low b) v)).
    { unfold v. rewrite E_atoms_app, E_zeros by auto. ring. }
    rewrite <- (firstn_skipn n v) at 1. rewrite E_atoms_app. f_equal.
    destruct PL as [PL|PL].
    - rewrite <- PL. rewrite <- (firstn_skipn m (skipn n v)) at 1. now rewrite E_atoms_app.
    - rewrite PL, firstn_nil, skipn_nil. cbn; ring. }
  rewrite EV. clear EV.
  assert (R1 := E_round d f (firstn m (skipn n v)) V3 Hf (first_index t)).
  assert (F1 := E_atoms_range h (s * s) S2 f (firstn n v) (low a + low b) V1 Hf).
  assert (F2 := E_atoms_range h (s * s) S2 f (skipn m (skipn n v)) (first_index t + Z.of_nat (length (firstn m (skipn n v)))) V4 Hf).
  assert (X : forall y, IZR y / (s * s) = IZR y / s / s) by (intros; field; lra).
  assert (V : 0 < / s) by now apply Rinv_0_lt_compat.
  destruct d; cbn [safe] in *; unfold lost in *.
  - rewrite !plus_IZR in Q2.
    assert (IZR i / (s * s) + IZR (sumv (firstn n v)) / (s * s) + IZR (sumv (skipn m (skipn n v))) / (s * s)
            <= IZR (quotient Above B (i + (sumv (firstn n v) + sumv (skipn m (skipn n v))))) / s).
    { rewrite !X. replace (IZR i / s / s + IZR (sumv (firstn n v)) / s / s + IZR (sumv (skipn m (skipn n v))) / s / s)
        with ((IZR i + (IZR (sumv (firstn n v)) + IZR (sumv (skipn m (skipn n v))))) / s / s) by (field; lra).
      unfold Rdiv in *; apply Rmult_le_compat_r; lra. }
    lra.
  - rewrite Z.add_0_r in *. 
    assert (IZR (quotient Below B i) / s <= IZR i / (s * s)).
    { rewrite X. unfold Rdiv in *; apply Rmult_le_compat_r; lra. }
    lra. Qed.

(* All kinds. *)
Definition laws_of (ks : list kind) : list law := flat_map (fun k => repeat (L (step_law k)) (Z.to_nat (count k))) ks.
Lemma nonneg_laws ks : Forall (fun k => good (step_law k)) ks -> Forall nonneg (laws_of ks).
Proof. intros H; induction H as [|k ks Hk H IH]; simpl; [constructor|]. apply Forall_app; split; [|exact IH].
  apply Forall_forall; intros x Hx. apply repeat_spec in Hx; subst. now apply good_nonneg. Qed.

(* ---------- delta of the composed law ---------- *)
Variable eps : R.
Lemma w_at z : eps <= z -> w eps z = 1 - exp (eps - z).
Proof. intros. unfold w. apply pos_of_pos. assert (exp (eps - z) <= exp 0) by (apply exp_le; lra).
  rewrite exp_0 in *; lra. Qed.
Lemma w_before z : z <= eps -> w eps z = 0.
Proof. intros. unfold w. apply pos_of_neg. assert (exp 0 <= exp (eps - z)) by (apply exp_le; lra).
  rewrite exp_0 in *; lra. Qed.

Hypothesis Hh : 0 < h.
(* x bounds 2^B times e from the side that makes 1 - e safe *)
Definition encloses (d : side) (x : Z) (e : R) := (0 <= x)%Z /\ safe (opposite d) (s * e) (IZR x).
Lemma weighted_ok d r l : encloses d r (exp (- h)) -> nnv l -> forall g i,
  eps <= h * IZR i -> encloses d g (exp (eps - h * IZR i)) ->
  safe d (E (w eps) (atoms h s i l)) (IZR (weighted d B r g l) / s / s).
Proof. intros [R0 R1] Hl. assert (S := Hs). induction Hl as [|m l Hm Hl IH]; intros g i Hi [G0 G1]; cbn [weighted atoms E fst snd].
  { destruct d; simpl; unfold Rdiv; lra. }
  assert (V : 0 < / s) by now apply Rinv_0_lt_compat.
  assert (Hi' : eps <= h * IZR (i + 1)) by (rewrite plus_IZR; nra).
  assert (GN : encloses d (quotient (opposite d) B (g * r)) (exp (eps - h * IZR (i + 1)))).
  { destruct (quotient_ok (opposite d) B (g * r) ltac:(lia) ltac:(nia)) as [Q1 Q2]. fold s in Q2. split; auto.
    replace (eps - h * IZR (i + 1)) with ((eps - h * IZR i) + - h) by (rewrite plus_IZR; ring).
    rewrite exp_plus. assert (E1 := exp_pos (eps - h * IZR i)). assert (E2 := exp_pos (- h)).
    rewrite mult_IZR in Q2. apply IZR_le in G0. apply IZR_le in R0.
    assert (Y : s * (exp (eps - h * IZR i) * exp (- h)) = (s * exp (eps - h * IZR i)) * (s * exp (- h)) / s) by (field; lra).
    rewrite Y. assert (0 < s * exp (eps - h * IZR i)) by now apply Rmult_lt_0_compat.
    assert (0 < s * exp (- h)) by now apply Rmult_lt_0_compat.
    destruct d; simpl in *; (eapply Rle_trans; [first [exact Q2|apply Rmult_le_compat_r; [lra|apply Rmult_le_compat; [lra|lra|exact G1|exact R1]]]|]).
    - apply Rmult_le_compat_r; [lra|]. apply Rmult_le_compat; auto.
    - exact Q2. }
  specialize (IH _ (i + 1)%Z Hi' GN). rewrite w_at by auto. rewrite plus_IZR, mult_IZR. apply IZR_le in Hm.
  set (e := exp (eps - h * IZR i)) in *.
  assert (Z1 : forall y, IZR m / s * y = IZR m * (s * y) / s / s) by (intros; field; lra).
  rewrite Z1. assert (D1 : forall x y, (x + y) / s / s = x / s / s + y / s / s) by (intros; field; lra). rewrite D1.
  assert (PW : IZR (pow2 B) = s) by (rewrite pow2_ok by lia; reflexivity).
  destruct d; cbn [safe weight opposite] in *.
  - apply Rplus_le_compat; auto. rewrite minus_IZR, PW. unfold Rdiv.
    do 2 (apply Rmult_le_compat_r; [lra|]). apply Rmult_le_compat_l; auto. lra.
  - apply Rplus_le_compat; auto. unfold Rdiv. do 2 (apply Rmult_le_compat_r; [lra|]). apply Rmult_le_compat_l; auto.
    apply Z.max_case_strong; intros _.
    + assert (e <= 1). { unfold e. rewrite <- exp_0. apply exp_le; lra. } nra.
    + rewrite minus_IZR, PW. lra. Qed.

Lemma masses_from_nn i v : good v -> nnv (masses_from i v).
Proof. intros [_ [H _]]. unfold masses_from. destruct (i <=? low v)%Z; [|now apply nn_split].
  apply Forall_app; split; auto. apply Forall_forall; intros x Hx; apply repeat_spec in Hx; lia. Qed.
Lemma masses_from_ok i v : h * (IZR i - 1) <= eps ->
  E (w eps) (atoms h s (low v) (mass v)) = E (w eps) (atoms h s i (masses_from i v)).
Proof. intros Hi. unfold masses_from. destruct (Z.leb_spec i (low v)) as [G|G].
  - rewrite E_atoms_app, E_zeros, repeat_length. replace (i + Z.of_nat (Z.to_nat (low v - i)))%Z with (low v) by lia. ring.
  - assert (Z0 : forall l j, (j + Z.of_nat (length l) <= i)%Z -> E (w eps) (atoms h s j l) = 0).
    { induction l as [|m l IH]; intros j Hj; cbn [atoms E fst snd length] in *; [auto|].
      rewrite IH by lia. rewrite w_before; [ring|].
      assert (IZR j <= IZR i - 1) by (change (IZR i - 1) with (IZR i - IZR 1); rewrite <- minus_IZR; apply IZR_le; lia). nra. }
    set (n := Z.to_nat (i - low v)). rewrite <- (firstn_skipn n (mass v)) at 1. rewrite E_atoms_app.
    destruct (Nat.le_gt_cases n (length (mass v))) as [N|N].
    + rewrite Z0 by (rewrite firstn_length_le by auto; unfold n; lia).
      rewrite firstn_length_le by auto. replace (low v + Z.of_nat n)%Z with i by (unfold n; lia). ring.
    + rewrite skipn_all2 by lia. rewrite Z0; [simpl; ring|]. rewrite firstn_length. unfold n in *. lia. Qed.
End Sound.

(* ---------- onto a coarser grid ---------- *)
(* A mass m at r steps of x in a cell of n: k of it goes to the cell's start, the rest to its end. *)
Lemma spread_one e x n r q m k : 0 < x -> (0 < n)%Z -> (0 <= k <= m)%Z ->
  IZR k * (1 - exp (- (x * IZR n))) <= IZR m * (exp (- (x * IZR r)) - exp (- (x * IZR n))) ->
  IZR m * w e (x * IZR (n * q + r)) <= IZR k * w e (x * IZR n * IZR q) + IZR (m - k) * w e (x * IZR n * IZR (q + 1)).
Proof. intros Hx Hn [K0 K1] H. apply IZR_le in K0, K1. rewrite minus_IZR. destruct (Req_dec (IZR m) 0) as [M|M].
  { replace (IZR k) with 0 by lra. rewrite M. lra. }
  assert (MP : 0 < IZR m) by lra. set (t := IZR k / IZR m). assert (KE : IZR k = t * IZR m) by (unfold t; field; lra).
  assert (T : 0 <= t <= 1). { split; [apply Rmult_le_pos; [lra|left; now apply Rinv_0_lt_compat]|]. apply Rmult_le_reg_r with (IZR m); lra. }
  set (X := x * IZR n) in *. assert (NR := IZR_lt _ _ Hn). assert (ER : exp (- (x * IZR r)) >= t * 1 + (1 - t) * exp (- X)).
  { apply Rle_ge, Rmult_le_reg_l with (IZR m); auto. rewrite KE in H. lra. }
  replace (x * IZR (n * q + r)) with (X * IZR q + x * IZR r) by (unfold X; rewrite plus_IZR, mult_IZR; ring).
  replace (X * IZR (q + 1)) with (X * IZR q + X) by (rewrite plus_IZR; ring). rewrite !w_wu, !Ropp_plus_distr, !exp_plus.
  set (u := exp (- (X * IZR q))). assert (U : 0 < u) by apply exp_pos. assert (E := exp_pos e).
  assert (C := wu_chord (exp e) t u (u * exp (- X)) T).
  assert (D : wu (exp e) (u * exp (- (x * IZR r))) <= wu (exp e) (t * u + (1 - t) * (u * exp (- X)))).
  { unfold wu. apply pos_le. assert (u * (t * 1 + (1 - t) * exp (- X)) <= u * exp (- (x * IZR r))) by (apply Rmult_le_compat_l; lra).
    assert (exp e * (t * u + (1 - t) * (u * exp (- X))) <= exp e * (u * exp (- (x * IZR r)))) by (apply Rmult_le_compat_l; lra). lra. }
  rewrite KE. apply Rle_trans with (IZR m * (t * wu (exp e) u + (1 - t) * wu (exp e) (u * exp (- X)))); [apply Rmult_le_compat_l; lra|right; ring]. Qed.
Section Spread.
Variables (B : Z) (s x : R) (n : Z) (ws : list Z).
Hypothesis HB : (0 <= B)%Z.
Hypothesis Hs : 0 < s.
Hypothesis Hx : 0 < x.
Hypothesis Hn : (0 < n)%Z.
Hypothesis Hlen : length ws = Z.to_nat n.
Hypothesis Hws : forall r v, nth_error ws r = Some v -> (0 <= v <= 2 ^ B)%Z /\
  IZR v * (1 - exp (- (x * IZR n))) <= IZR (2 ^ B) * (exp (- (x * IZR (Z.of_nat r))) - exp (- (x * IZR n))).
Let X := x * IZR n.
Lemma share_ok r v m : nth_error ws r = Some v -> (0 <= m)%Z -> let k := shr B (m * v) in (0 <= k <= m)%Z /\
  IZR k * (1 - exp (- (x * IZR n))) <= IZR m * (exp (- (x * IZR (Z.of_nat r))) - exp (- (x * IZR n))).
Proof. intros N M k. destruct (Hws r v N) as [[V0 V1] V]. assert (P : (0 < 2 ^ B)%Z) by (apply Z.pow_pos_nonneg; lia).
  assert (KE : k = (m * v / 2 ^ B)%Z) by (unfold k; apply shr_ok; nia). split.
  - rewrite KE. split; [apply Z.div_pos; nia|]. apply Z.div_le_upper_bound; nia.
  - assert (PR := IZR_lt _ _ P). assert (KL : IZR k <= IZR m * IZR v / IZR (2 ^ B)) by (rewrite KE, <- mult_IZR; now apply div_le).
    apply IZR_le in M. assert (NR := IZR_lt _ _ Hn). assert (E1 : exp (- (x * IZR n)) <= 1).
    { rewrite <- exp_0. apply exp_le. assert (0 <= x * IZR n) by (apply Rmult_le_pos; lra). lra. }
    apply Rle_trans with (IZR m * IZR v / IZR (2 ^ B) * (1 - exp (- (x * IZR n)))); [apply Rmult_le_compat_r; lra|].
    apply Rmult_le_reg_r with (IZR (2 ^ B)); auto.
    replace (IZR m * IZR v / IZR (2 ^ B) * (1 - exp (- (x * IZR n))) * IZR (2 ^ B)) with (IZR m * (IZR v * (1 - exp (- (x * IZR n))))) by (field; lra).
    rewrite Rmult_assoc, (Rmult_comm _ (IZR (2 ^ B))). apply Rmult_le_compat_l; auto. Qed.
Lemma nth_skipn {T} (l : list T) r v rest : skipn r l = v :: rest -> nth_error l r = Some v /\ rest = skipn (S r) l.
Proof. revert l. induction r as [|r IH]; intros [|y l] E; cbn [skipn nth_error] in *; try discriminate; [injection E as -> ->; auto|now apply IH]. Qed.
Lemma spread_ok l : nnv l -> forall r q start next, (r <= Z.to_nat n)%nat -> (0 <= start)%Z -> (0 <= next)%Z ->
  let c := spread B ws (skipn r ws) start next l in
  c <> [] /\ nnv c /\ sumv c = (start + next + sumv l)%Z /\ forall e, IZR start / s * w e (X * IZR q) + IZR next / s * w e (X * IZR (q + 1))
    + E (w e) (atoms x s (n * q + Z.of_nat r) l) <= E (w e) (atoms X s q c).
Proof. intros V. induction V as [|m l Hm V IH]; intros r q start next Hr S0 N0 c.
  - unfold c. cbn [spread atoms E fst snd sumv]. destruct (skipn r ws); (split; [discriminate|split; [repeat constructor; auto|split; [cbn [sumv]; lia|intros; cbn [atoms E fst snd]; lra]]]).
  - unfold c. clear c. assert (Vs : 0 < / s) by now apply Rinv_0_lt_compat. destruct (skipn r ws) as [|v rest] eqn:SK; cbn [spread].
    + assert (RN : r = Z.to_nat n). { assert (L : length (skipn r ws) = 0%nat) by (now rewrite SK). rewrite skipn_length, Hlen in L. lia. }
      destruct ws as [|v rest] eqn:W; [cbn in Hlen; lia|]. rewrite <- W in *.
      assert (NT : nth_error ws 0 = Some v) by (now rewrite W). assert (RE : rest = skipn 1 ws) by (now rewrite W).
      destruct (share_ok 0 v m NT Hm) as [K0 K1]. cbv zeta in K0, K1. set (k := shr B (m * v)) in *. rewrite RE.
      destruct (IH 1%nat (q + 1)%Z (next + k)%Z (m - k)%Z ltac:(lia) ltac:(lia) ltac:(lia)) as [C0 [C1 [C2 C3]]]. set (c := spread B ws _ _ _ l) in *.
      split; [discriminate|split; [now constructor|split; [cbn [sumv]; lia|]]]. intros e. cbn [atoms E fst snd]. specialize (C3 e).
      assert (K := spread_one e x n (Z.of_nat 0) (q + 1) m k Hx Hn K0 K1). fold X in K.
      replace (n * q + Z.of_nat r)%Z with (n * (q + 1) + Z.of_nat 0)%Z by lia. replace (n * (q + 1) + Z.of_nat 0 + 1)%Z with (n * (q + 1) + Z.of_nat 1)%Z by lia.
      apply (Rmult_le_compat_r (/ s)) in K; [|lra]. rewrite (plus_IZR next k) in C3. unfold Rdiv in *. lra.
    + destruct (nth_skipn ws r v rest SK) as [NT RE]. destruct (share_ok r v m NT Hm) as [K0 K1]. cbv zeta in K0, K1. set (k := shr B (m * v)) in *. rewrite RE.
      assert (RL : (S r <= Z.to_nat n)%nat). { assert (r < length ws)%nat by (apply nth_error_Some; now rewrite NT). lia. }
      destruct (IH (S r) q (start + k)%Z (next + (m - k))%Z RL ltac:(lia) ltac:(lia)) as [C0 [C1 [C2 C3]]].
      split; [exact C0|split; [exact C1|split; [cbn [sumv]; lia|]]]. intros e. cbn [atoms E fst snd]. specialize (C3 e).
      assert (K := spread_one e x n (Z.of_nat r) q m k Hx Hn K0 K1). fold X in K.
      replace (n * q + Z.of_nat r + 1)%Z with (n * q + Z.of_nat (S r))%Z by lia.
      apply (Rmult_le_compat_r (/ s)) in K; [|lra]. rewrite (plus_IZR start k), (plus_IZR next (m - k)) in C3. unfold Rdiv in *. lra. Qed.
End Spread.
Lemma shares_of_ok B p q n : (0 < B)%Z -> (0 < p)%Z -> (0 < q)%Z -> (1 < n)%Z -> (exp_above B (p * n) q < 2 ^ B)%Z -> let x := IZR p / IZR q in
  length (shares_of B p q n) = Z.to_nat n /\ forall r v, nth_error (shares_of B p q n) r = Some v -> (0 <= v <= 2 ^ B)%Z /\
  IZR v * (1 - exp (- (x * IZR n))) <= IZR (2 ^ B) * (exp (- (x * IZR (Z.of_nat r))) - exp (- (x * IZR n))).
Proof. intros HB Hp Hq Hn HE x. unfold shares_of. rewrite pow2_ok by lia. set (A := exp_above B (p * n) q) in *. set (U := (2 ^ B)%Z) in *.
  assert (QR := IZR_lt _ _ Hq). assert (PR := IZR_lt _ _ Hp). assert (UP : (0 < U)%Z) by (apply Z.pow_pos_nonneg; lia). assert (UR := IZR_lt _ _ UP).
  assert (AE : IZR U * exp (- (x * IZR n)) <= IZR A).
  { replace (x * IZR n) with (IZR (p * n) / IZR q) by (unfold x; rewrite mult_IZR; field; lra). apply exp_above_ok; nia. }
  apply IZR_lt in HE. assert (N1 : exp (- (x * IZR n)) < 1) by (apply Rmult_lt_reg_l with (IZR U); lra).
  split.
  { cbn [length]. rewrite map_length, seq_length. lia. }
  intros [|r] v N; cbn [nth_error] in N.
  - injection N as <-. split; [lia|]. cbn [Z.of_nat]. rewrite Rmult_0_r, Ropp_0, exp_0. lra.
  - rewrite nth_error_map in N. destruct (nth_error (seq 1 (Z.to_nat n - 1)) r) as [i|] eqn:NI; [|discriminate]. injection N as <-.
    assert (IE : i = S r). { assert (r < length (seq 1 (Z.to_nat n - 1)))%nat by (apply nth_error_Some; now rewrite NI). rewrite seq_length in H.
      apply (nth_error_nth _ _ 0%nat) in NI. rewrite seq_nth in NI by auto. lia. } subst i.
    assert (L := exp_below_ok B (p * Z.of_nat (S r)) q ltac:(lia) ltac:(nia) Hq). fold U in L.
    replace (IZR (p * Z.of_nat (S r)) / IZR q) with (x * IZR (Z.of_nat (S r))) in L by (unfold x; rewrite mult_IZR; field; lra).
    set (F := exp_below B _ q) in *. set (R := exp (- (x * IZR (Z.of_nat (S r))))) in *. set (M := exp (- (x * IZR n))) in *.
    assert (R1 : R <= 1). { unfold R. rewrite <- exp_0. apply exp_le. assert (0 <= IZR (Z.of_nat (S r))) by (apply IZR_le; lia). assert (0 < x) by (now apply Rdiv_lt_0_compat). nra. }
    assert (D0 : (0 < U - A)%Z) by (apply lt_IZR; rewrite minus_IZR; lra). assert (FU : (F <= U)%Z) by (apply le_IZR; nra).
    assert (RM : M <= R). { unfold M, R. apply exp_le. assert (r < length (seq 1 (Z.to_nat n - 1)))%nat by (apply nth_error_Some; now rewrite NI). rewrite seq_length in H.
      assert (IZR (Z.of_nat (S r)) <= IZR n) by (apply IZR_le; lia). assert (0 < x) by (now apply Rdiv_lt_0_compat). nra. }
    split.
    + split; [lia|]. apply Z.max_lub; [lia|]. apply Z.div_le_upper_bound; nia.
    + apply Z.max_case_strong; intros _.
      * assert (0 <= IZR U * (R - M)) by (apply Rmult_le_pos; lra). lra.
      * apply Rle_trans with (IZR (U * (F - A)) / IZR (U - A) * (1 - M)); [apply Rmult_le_compat_r; [lra|now apply div_le]|].
        assert (DR := IZR_lt _ _ D0). rewrite minus_IZR in DR. rewrite mult_IZR, !minus_IZR. apply Rmult_le_reg_r with (IZR U - IZR A); auto.
        replace (IZR U * (IZR F - IZR A) / (IZR U - IZR A) * (1 - M) * (IZR U - IZR A)) with (IZR U * ((IZR F - IZR A) * (1 - M))) by (field; lra).
        rewrite Rmult_assoc. apply Rmult_le_compat_l; [lra|].
        assert ((IZR F - IZR A) * (1 - M) <= (IZR U * R - IZR A) * (1 - M)) by (apply Rmult_le_compat_r; lra).
        assert (0 <= (IZR A - IZR U * M) * (1 - R)) by (apply Rmult_le_pos; lra). lra. Qed.
Theorem coarsen_ok d B p q n v v' : (0 < B)%Z -> (0 < p)%Z -> (0 < q)%Z -> good v -> coarsen d B p q n v = Some v' ->
  (0 < n)%Z /\ good v' /\ on_side d (law_of (IZR p / IZR q) (IZR (2 ^ B)) v) (law_of (IZR p / IZR q * IZR n) (IZR (2 ^ B)) v').
Proof. intros HB Hp Hq Gv H. unfold coarsen in H. destruct (Z.eqb_spec n 1) as [->|N1].
  { injection H as <-. rewrite Rmult_1_r. split; [lia|split; [auto|apply on_side_refl]]. }
  destruct d; [|discriminate]. destruct (Z.ltb_spec 1 n) as [G|G]; [|discriminate]. cbn [andb] in H. rewrite pow2_ok in H by lia.
  destruct (Z.ltb_spec (exp_above B (p * n) q) (2 ^ B)) as [X|X]; [|discriminate]. injection H as <-.
  destruct (shares_of_ok B p q n HB Hp Hq G X) as [SL SW]. set (ws := shares_of B p q n) in *. set (x := IZR p / IZR q) in *. set (s := IZR (2 ^ B)).
  assert (S0 : 0 < s) by (apply IZR_lt, Z.pow_pos_nonneg; lia). assert (X0 : 0 < x) by (apply Rdiv_lt_0_compat; now apply IZR_lt).
  destruct Gv as [V0 [V1 V2]]. assert (MB := Z.mod_pos_bound (low v) n ltac:(lia)). assert (DM := Z.div_mod (low v) n ltac:(lia)).
  destruct (spread_ok B s x n ws ltac:(lia) S0 X0 ltac:(lia) SL SW (mass v) V1 (Z.to_nat (low v mod n)) (low v / n) 0 0 ltac:(lia) ltac:(lia) ltac:(lia)) as [C0 [C1 [C2 C3]]].
  split; [lia|split; [split; [exact C0|split; [exact C1|exact V2]]|]]. split.
  - intros e. unfold delta, law_of. cbn [fst snd low mass inf]. apply Rplus_le_compat_l. specialize (C3 e).
    replace (n * (low v / n) + Z.of_nat (Z.to_nat (low v mod n)))%Z with (low v) in C3 by (rewrite Z2Nat.id by lia; lia). unfold Rdiv in C3. lra.
  - unfold tot, law_of. cbn [fst snd low mass inf]. rewrite !E_one_atoms, C2 by auto. replace (0 + 0 + sumv (mass v))%Z with (sumv (mass v)) by lia. lra. Qed.

(* ---------- powers, and all kinds ---------- *)
Section Powers.
Variable product : list Z -> list Z -> list Z.
Hypothesis product_spec : forall a b, a <> [] -> b <> [] -> nnv a -> nnv b ->
  exists n, product a b = mulv a b ++ repeat 0%Z n.
Variables (B p q : Z).
Hypothesis HB : (0 < B)%Z.
Hypothesis Hp : (0 < p)%Z.
Hypothesis Hq : (0 < q)%Z.
Let h := IZR p / IZR q.
Let s := IZR (2 ^ B).
Let L (a : scaled) := law_of (h * IZR (fst a)) s (snd a).
Definition fine (a : scaled) := (0 < fst a)%Z /\ good (snd a).
Lemma fine_nonneg a : fine a -> nonneg (L a).
Proof. intros [_ G]. unfold L. now apply good_nonneg. Qed.
Lemma step_of c : (0 < c)%Z -> (0 < p * c)%Z /\ IZR (p * c) / IZR q = h * IZR c.
Proof. intros C. split; [nia|]. assert (QR := IZR_lt _ _ Hq). unfold h. rewrite mult_IZR. field. lra. Qed.
Lemma on_scale_ok d c a v : (0 < c)%Z -> fine a -> on_scale p q d B c a = Some v -> good v /\ on_side d (L a) (law_of (h * IZR c) s v).
Proof. intros C [F G] H. unfold on_scale in H. destruct (Z.eqb_spec (c mod fst a) 0) as [M|M]; [|discriminate].
  destruct (step_of (fst a) F) as [P E]. destruct (coarsen_ok _ _ _ _ _ _ _ HB P Hq G H) as [_ [G' D]]. split; auto. rewrite E in D. unfold L.
  replace (h * IZR c) with (h * IZR (fst a) * IZR (c / fst a)); [exact D|]. rewrite Rmult_assoc, <- mult_IZR. do 2 f_equal.
  assert (K := Z.div_mod c (fst a) ltac:(lia)). lia. Qed.
Lemma next_ok d a b hs c hs' : fine a -> fine b -> next product p q d B a b hs = Some (c, hs') ->
  fine c /\ on_side d (conv (L a) (L b)) (L c).
Proof. intros Fa Fb H. unfold next in H. cbv zeta in H. set (m := Z.max (fst a) (fst b)) in *. assert (M : (0 < m)%Z) by (destruct Fa; unfold m; lia).
  destruct hs as [|t hs]; [easy|]. destruct (on_scale p q d B m a) as [a'|] eqn:A; [|easy]. destruct (on_scale p q d B m b) as [b'|] eqn:B'; [|easy].
  destruct (step product d B a' b' t) as [v|] eqn:V; [|easy]. destruct (coarsen d B (p * m) q (coarser t) v) as [v'|] eqn:V'; [|easy]. injection H as <- _.
  destruct (on_scale_ok d m a a' M Fa A) as [Ga Da]. destruct (on_scale_ok d m b b' M Fb B') as [Gb Db].
  destruct (step_ok product product_spec (h * IZR m) B HB d a' b' t v Ga Gb V) as [Gv Dv].
  destruct (step_of m M) as [P E]. destruct (coarsen_ok d B (p * m) q (coarser t) v v' HB P Hq Gv V') as [N [Gv' Dv']]. rewrite E in Dv'. fold s in Dv, Dv'.
  split; [split; [cbn [fst]; nia|exact Gv']|]. unfold L at 3. cbn [fst snd]. rewrite mult_IZR, <- Rmult_assoc.
  eapply on_side_trans; [|exact Dv']. eapply on_side_trans; [|exact Dv].
  apply on_side_conv; auto using fine_nonneg; now apply good_nonneg. Qed.

(* Binary powering. *)
Theorem power_ok d a : fine a -> forall k hs c hs', power product p q d B a k hs = Some (c, hs') ->
  fine c /\ on_side d (kfold (Pos.to_nat k) (L a)) (L c).
Proof. intros Ga. assert (Na := fine_nonneg a Ga).
  assert (SQ : forall k v hs c hs', fine v -> on_side d (kfold (Pos.to_nat k) (L a)) (L v) ->
    next product p q d B v v hs = Some (c, hs') -> fine c /\ on_side d (kfold (Pos.to_nat (xO k)) (L a)) (L c)).
  { intros k v hs c hs' Gv Dv H. destruct (next_ok _ _ _ _ _ _ Gv Gv H) as [Gc Dc]. split; auto.
    rewrite Pos2Nat.inj_xO. replace (2 * Pos.to_nat k)%nat with (Pos.to_nat k + Pos.to_nat k)%nat by lia.
    eapply on_side_trans; [apply on_side_same, kfold_add|]. eapply on_side_trans; [|apply Dc].
    apply on_side_conv; auto using nonneg_kfold, fine_nonneg. }
  induction k as [k IH|k IH|]; intros hs c hs' H; cbn [power] in H.
  - destruct (power product p q d B a k hs) as [[v hs1]|] eqn:X; [|easy]. destruct (IH _ _ _ X) as [Gv Dv].
    destruct (next product p q d B v v hs1) as [[v2 hs2]|] eqn:Y; [|easy].
    destruct (SQ _ _ _ _ _ Gv Dv Y) as [G2 D2]. destruct (next_ok _ _ _ _ _ _ G2 Ga H) as [Gc Dc]. split; auto.
    rewrite Pos2Nat.inj_xI. rewrite Pos2Nat.inj_xO in D2. eapply on_side_trans; [|apply Dc]. cbn [kfold].
    eapply on_side_trans; [apply on_side_same, same_comm|].
    apply on_side_conv; auto using nonneg_kfold, fine_nonneg, on_side_refl.
  - destruct (power product p q d B a k hs) as [[v hs1]|] eqn:X; [|easy]. destruct (IH _ _ _ X) as [Gv Dv].
    eapply SQ; eauto.
  - injection H as <- _. split; auto. apply on_side_same, kfold_1. Qed.

Theorem series_ok d ks : Forall (fun k => good (step_law k)) ks -> forall hs c hs', series product p q d B ks hs = Some (c, hs') ->
  fine c /\ on_side d (compose (laws_of h B ks)) (L c).
Proof. intros G; induction G as [|[n a] ks Ga G IH]; intros hs c hs' H; cbn [series] in H; [easy|]. destruct n as [|n|n]; try easy.
  cbn [laws_of flat_map count step_law Z.to_nat] in *. fold (laws_of h B ks). cbn [step_law] in Ga.
  assert (Fa : fine (1%Z, a)) by (split; cbn [fst snd]; [lia|auto]).
  assert (LA : law_of h (IZR (2 ^ B)) a = L (1%Z, a)) by (unfold L; cbn [fst snd]; now rewrite Rmult_1_r). rewrite LA.
  assert (A := compose_app (repeat (L (1%Z, a)) (Pos.to_nat n)) (laws_of h B ks)). rewrite compose_repeat in A.
  destruct (power product p q d B (1%Z, a) n hs) as [[v hs1]|] eqn:P; [|now destruct ks].
  destruct (power_ok d (1%Z, a) Fa n hs v hs1 P) as [Gv Dv]. destruct ks as [|k ks].
  - injection H as <- _. split; auto. eapply on_side_trans; [|exact Dv]. apply on_side_same.
    eapply same_trans; [exact A|]. eapply same_trans; [apply same_comm|apply same_unit].
  - destruct (series product p q d B (k :: ks) hs1) as [[r hs2]|] eqn:R; [|easy]. destruct (IH _ _ _ R) as [Gr Dr].
    destruct (next_ok _ _ _ _ _ _ Gv Gr H) as [Gc Dc]. split; auto. eapply on_side_trans; [apply on_side_same, A|].
    eapply on_side_trans; [|exact Dc]. assert (NA := fine_nonneg _ Fa). assert (NL := nonneg_compose _ (nonneg_laws h B HB _ G)).
    apply on_side_conv; auto using nonneg_kfold, fine_nonneg. Qed.
End Powers.

(* ---------- the theorems ---------- *)
Definition epsilon_of (p : problem) : R := IZR (eps_num p) / IZR (eps_den p).
Definition grid_step (p : problem) : R := IZR (h_num p) / IZR (h_den p).
Definition unit_of (p : problem) : R := IZR (2 ^ bits p).
(* the laws of all steps, one by one *)
Definition steps_of (p : problem) : list law := laws_of (grid_step p) (bits p) (kinds p).
Definition composed (p : problem) : law := compose (steps_of p).

Section Accept.
Variable product : list Z -> list Z -> list Z.
Hypothesis product_spec : forall a b, a <> [] -> b <> [] -> nnv a -> nnv b ->
  exists n, product a b = mulv a b ++ repeat 0%Z n.

Theorem delta_bound_ok p v : good v -> (0 < bits p)%Z -> (0 < eps_den p)%Z -> (0 < h_num p)%Z -> (0 < h_den p)%Z ->
  safe (direction p) (delta (epsilon_of p) (law_of (grid_step p) (unit_of p) v)) (IZR (delta_bound p v) / unit_of p).
Proof. intros Gv HB He Hn Hd. set (h := grid_step p). set (s := unit_of p).
  set (eps := epsilon_of p). set (i := beyond p).
  assert (S : 0 < s) by (apply IZR_lt, Z.pow_pos_nonneg; lia).
  assert (Rn := IZR_lt 0 _ Hn). assert (Rd := IZR_lt 0 _ Hd). assert (Re := IZR_lt 0 _ He).
  assert (Hh : 0 < h) by (apply Rmult_lt_0_compat; [auto|now apply Rinv_0_lt_compat]).
  set (x := (eps_num p * h_den p)%Z). set (y := (eps_den p * h_num p)%Z). assert (Hy : (0 < y)%Z) by (unfold y; nia).
  assert (T : h * IZR i - eps = IZR (h_num p * i * eps_den p - x) / IZR (h_den p * eps_den p)).
  { unfold h, eps, grid_step, epsilon_of, x. rewrite minus_IZR, !mult_IZR. field; lra. }
  assert (I1 : ((i - 1) * y <= x < i * y)%Z).
  { unfold i, beyond. fold x y. generalize (Z.div_mod x y ltac:(lia)) (Z.mod_pos_bound x y Hy). nia. }
  assert (Hden : (0 < h_den p * eps_den p)%Z) by nia. assert (Rden := IZR_lt 0 _ Hden).
  assert (Hnum : (0 < h_num p * i * eps_den p - x)%Z) by (unfold y in I1; nia).
  assert (A1 : eps <= h * IZR i).
  { assert (0 <= h * IZR i - eps); [|lra]. rewrite T. apply Rmult_le_pos; [apply IZR_le; lia|].
    left; now apply Rinv_0_lt_compat. }
  assert (A2 : h * (IZR i - 1) <= eps).
  { assert (h * (IZR i - 1) - eps <= 0); [|lra].
    replace (h * (IZR i - 1) - eps) with (IZR ((i - 1) * y - x) / IZR (h_den p * eps_den p))
      by (unfold h, eps, grid_step, epsilon_of, x, y; rewrite minus_IZR, !mult_IZR, minus_IZR; field; lra).
    apply Rmult_le_reg_r with (IZR (h_den p * eps_den p)); auto. unfold Rdiv.
    rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_0_l by lra. apply IZR_le; lia. }
  unfold delta, law_of; cbn [fst snd]. fold h s. 
  assert (MF := masses_from_ok h (bits p) eps Hh i v A2). fold (unit_of p) s in MF. rewrite MF; clear MF.
  assert (ENC : forall pp qq, (0 <= pp)%Z -> (0 < qq)%Z ->
    encloses (bits p) (direction p) (exp_bound (direction p) (bits p) pp qq) (exp (- (IZR pp / IZR qq)))).
  { intros pp qq Hp Hq. unfold encloses, exp_bound. destruct (direction p); simpl.
    - destruct (exp_below_ok (bits p) pp qq ltac:(lia) Hp Hq) as [K1 K2]. split; [now apply le_IZR|auto].
    - assert (K := exp_above_ok (bits p) pp qq ltac:(lia) Hp Hq). split; auto. apply le_IZR.
      eapply Rle_trans; [|apply K]. left; apply Rmult_lt_0_compat; [auto|apply exp_pos]. }
  assert (NN := masses_from_nn i v Gv).
  assert (WOK := weighted_ok h (bits p) HB eps Hh (direction p) (exp_bound (direction p) (bits p) (h_num p) (h_den p))
    (masses_from i v) (ENC (h_num p) (h_den p) ltac:(lia) Hd) NN
    (exp_bound (direction p) (bits p) (h_num p * i * eps_den p - x) (h_den p * eps_den p)) i A1).
  assert (G : encloses (bits p) (direction p) (exp_bound (direction p) (bits p) (h_num p * i * eps_den p - x)
     (h_den p * eps_den p)) (exp (eps - h * IZR i))).
  { replace (eps - h * IZR i) with (- (IZR (h_num p * i * eps_den p - x) / IZR (h_den p * eps_den p))) by (rewrite <- T; ring).
    apply ENC; lia. }
  specialize (WOK G). unfold delta_bound. fold i x. fold (unit_of p) s in WOK.
  set (W := weighted _ _ _ _ _) in *.
  assert (W0 : (0 <= W)%Z).
  { clear WOK. unfold W. set (r := exp_bound _ _ (h_num p) _). set (g := exp_bound _ _ _ _) in *.
    assert (GE : encloses (bits p) (direction p) r (exp (- h))) by (apply ENC; lia).
    assert (GL : forall l g j, nnv l -> eps <= h * IZR j -> encloses (bits p) (direction p) g (exp (eps - h * IZR j)) ->
      (0 <= weighted (direction p) (bits p) r g l)%Z).
    { intros l g' j Hl Hj Hg. apply le_IZR.
      assert (K := weighted_ok h (bits p) HB eps Hh (direction p) r l GE Hl g' j Hj Hg). fold (unit_of p) s in K.
      assert (KE : 0 <= E (w eps) (atoms h s j l)) by (apply E_ge0; [now apply nn_atoms|apply w_ge0]).
      destruct (direction p) eqn:D; simpl in K.
      - assert (K2 : 0 <= IZR (weighted Above (bits p) r g' l) / s / s) by lra.
        apply Rmult_le_reg_r with (/ s * / s); [apply Rmult_lt_0_compat; now apply Rinv_0_lt_compat|].
        rewrite Rmult_0_l. unfold Rdiv in K2. rewrite <- Rmult_assoc. exact K2.
      - clear K KE Hj Hg. apply IZR_le. revert g'; induction Hl as [|m l Hm Hl IHl]; intros g'; cbn [weighted]; [lia|].
        specialize (IHl (quotient Above (bits p) (g' * r))). cbn [weight opposite] in *. nia. }
    eapply GL; eauto. }
  destruct (quotient_ok (direction p) (bits p) W ltac:(lia) W0) as [_ Q]. fold (unit_of p) in Q. fold s in Q.
  rewrite plus_IZR. assert (V : 0 < / s) by now apply Rinv_0_lt_compat.
  destruct (direction p); simpl in *; unfold Rdiv in *; rewrite Rmult_plus_distr_r; apply Rplus_le_compat_l;
    (eapply Rle_trans; [first [exact WOK|apply Rmult_le_compat_r; [lra|exact Q]]|]);
    first [exact WOK|apply Rmult_le_compat_r; [lra|exact Q]]. Qed.

Lemma proper_good v : proper v = true -> good v.
Proof. unfold proper; intros H. apply andb_prop in H as [H I0]. apply andb_prop in H as [M N]. split; [|split].
  - intros E. rewrite E in N. discriminate N.
  - rewrite forallb_forall in M. apply Forall_forall; intros x Hx. apply Z.leb_le; auto.
  - now apply Z.leb_le. Qed.
Lemma accept_good p : accept product p = true ->
  (0 < bits p)%Z /\ (0 < eps_den p)%Z /\ (0 < h_num p)%Z /\ (0 < h_den p)%Z /\ Forall (fun k => good (step_law k)) (kinds p).
Proof. unfold accept, well_formed; intros H. apply andb_prop in H as [H _]. repeat (apply andb_prop in H as [H ?]).
  repeat match goal with X : (_ <? _)%Z = true |- _ => apply Z.ltb_lt in X end. repeat split; auto.
  match goal with X : forallb _ _ = true |- _ => rewrite forallb_forall in X end.
  apply Forall_forall; intros k Hk. apply proper_good; auto. Qed.
Theorem accept_ok p : accept product p = true ->
  safe (direction p) (delta (epsilon_of p) (composed p)) (IZR (bound p) / unit_of p).
Proof. intros H. destruct (accept_good p H) as [HB [He [Hn [Hd G]]]]. unfold accept in H. apply andb_prop in H as [_ A].
  destruct (series product (h_num p) (h_den p) (direction p) (bits p) (kinds p) (hints p)) as [[[c v] [|]]|] eqn:X; try easy.
  apply Z.eqb_eq in A. rewrite <- A.
  destruct (series_ok product product_spec (bits p) (h_num p) (h_den p) HB Hn Hd _ _ G _ _ _ X) as [[Fc Gv] Dv]. cbn [fst snd] in *.
  assert (K := delta_bound_ok (on_grid p c) v Gv HB He ltac:(cbn; nia) Hd).
  assert (SE : grid_step (on_grid p c) = grid_step p * IZR c).
  { unfold grid_step. cbn. rewrite mult_IZR. assert (HR := IZR_lt _ _ Hd). field. lra. }
  change (epsilon_of (on_grid p c)) with (epsilon_of p) in K. change (unit_of (on_grid p c)) with (unit_of p) in K. change (direction (on_grid p c)) with (direction p) in K.
  rewrite SE in K. apply (on_side_delta _ _ _ (epsilon_of p)) in Dv. fold (grid_step p) (unit_of p) in Dv. unfold composed, steps_of.
  destruct (direction p); simpl in *; lra. Qed.
Lemma accept_nonneg p : accept product p = true -> Forall nonneg (steps_of p).
Proof. intros H. destruct (accept_good p H) as [HB [_ [_ [_ G]]]]. now apply nonneg_laws. Qed.
Corollary accept_above p : accept product p = true -> direction p = Above ->
  delta (epsilon_of p) (composed p) <= IZR (bound p) / unit_of p.
Proof. intros H D. assert (K := accept_ok p H). now rewrite D in K. Qed.
Corollary accept_below p : accept product p = true -> direction p = Below ->
  IZR (bound p) / unit_of p <= delta (epsilon_of p) (composed p).
Proof. intros H D. assert (K := accept_ok p H). now rewrite D in K. Qed.
End Accept.
