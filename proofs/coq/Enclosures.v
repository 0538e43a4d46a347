(* 12. e^y and the area under the normal curve, between integers.

   Both are y or t times a continued product of the same kind.  With I_k the integral of u^k e^-u from 0 to y,
     (k+1) I_k = y^(k+1) e^-y + I_(k+1),                      I_(k+1) <= y I_k,
   and with I_k the integral of u^(2k) e^(-u^2/2) from 0 to t,
     (2k+1) I_k = t^(2k+1) e^(-t^2/2) + I_(k+1),              I_(k+1) <= t^2 I_k.
   `horner` goes through such a sequence from its n-th member down to I_0, in integers of unit 1/s that round down and
   up (horner_ok).  From it: expo_ok, s e^y, and area_ok, s times the integral of e^(-u^2/2) from 0 to t. *)
Require Import Reals ZArith List Lra Lia.
From Coquelicot Require Import Coquelicot.
From VerifiedDP Require Import Law Exponential Normal.
Open Scope R_scope.

(* an enclosure of a real number >= 0 *)
Definition range := (Z * Z)%type.
Section Unit.
Variable W : Z.
Hypothesis HW : (0 <= W)%Z.
Let s := (2 ^ W)%Z.
Definition holds (X : range) (x : R) := (0 <= fst X)%Z /\ IZR (fst X) <= IZR s * x <= IZR (snd X).
Lemma s_pos : (0 < s)%Z.
Proof. apply Z.pow_pos_nonneg; lia. Qed.
Lemma sR : 0 < IZR s.
Proof. apply IZR_lt, s_pos. Qed.

Definition unit : Z := Z.shiftl 1 W.
Lemma unit_ok : unit = s.
Proof. apply Z.shiftl_1_l. Qed.

(* s p/q *)
Definition quotient_range (p q : Z) : range := (Z.shiftl p W / q, ceiling (Z.shiftl p W) q)%Z.
Lemma quotient_range_ok p q : (0 <= p)%Z -> (0 < q)%Z -> holds (quotient_range p q) (IZR p / IZR q).
Proof. intros Hp Hq. unfold holds, quotient_range; cbn [fst snd]. rewrite Z.shiftl_mul_pow2 by lia. fold s.
  assert (S := s_pos). assert (Q : 0 < IZR q) by now apply IZR_lt.
  split; [apply Z.div_pos; nia|]. replace (IZR s * (IZR p / IZR q)) with (IZR (p * s) / IZR q) by (rewrite mult_IZR; field; lra).
  split; [now apply div_le|now apply ceiling_ge]. Qed.

(* 1 + x v / c *)
Definition fold_in (X : range) (c : Z) (V : range) : range :=
  (unit + Z.shiftr (fst X * fst V) W / c, unit + ceiling (- Z.shiftr (- (snd X * snd V)) W) c)%Z.
Lemma shiftr_le z : IZR (Z.shiftr z W) <= IZR z / IZR s.
Proof. rewrite Z.shiftr_div_pow2 by lia. apply div_le, s_pos. Qed.
Lemma shiftr_ge z : IZR z / IZR s <= IZR (- Z.shiftr (- z) W).
Proof. assert (K := shiftr_le (- z)). rewrite opp_IZR in *. assert (SR := sR). unfold Rdiv in *. lra. Qed.
Lemma fold_in_ok X x c V : holds X x -> (0 < c)%Z -> (0 <= fst V)%Z -> (0 <= snd V)%Z ->
  IZR (fst (fold_in X c V)) <= IZR s + x * IZR (fst V) / IZR c /\ IZR s + x * IZR (snd V) / IZR c <= IZR (snd (fold_in X c V))
  /\ (s <= fst (fold_in X c V))%Z /\ (0 <= snd (fold_in X c V))%Z.
Proof. intros [X0 [X1 X2]] Hc V0 V1. unfold fold_in; rewrite unit_ok; cbn [fst snd]. assert (C : 0 < IZR c) by now apply IZR_lt. assert (SR := sR).
  apply IZR_le in X0. apply IZR_le in V0. apply IZR_le in V1. assert (IC := Rinv_0_lt_compat _ C). assert (IS := Rinv_0_lt_compat _ SR).
  assert (L : IZR (Z.shiftr (fst X * fst V) W) <= x * IZR (fst V)).
  { eapply Rle_trans; [apply shiftr_le|]. rewrite mult_IZR. apply Rmult_le_reg_r with (IZR s); auto.
    unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra. nra. }
  assert (U : x * IZR (snd V) <= IZR (- Z.shiftr (- (snd X * snd V)) W)).
  { eapply Rle_trans; [|apply shiftr_ge]. rewrite mult_IZR. apply Rmult_le_reg_r with (IZR s); auto.
    unfold Rdiv; rewrite (Rmult_assoc (_ * _)), Rinv_l by lra. nra. }
  rewrite !plus_IZR. split; [|split; [|split]].
  - apply Rplus_le_compat_l. eapply Rle_trans; [apply div_le; auto|]. unfold Rdiv. apply Rmult_le_compat_r; lra.
  - apply Rplus_le_compat_l. eapply Rle_trans; [|apply ceiling_ge; auto]. unfold Rdiv. apply Rmult_le_compat_r; lra.
  - assert (0 <= Z.shiftr (fst X * fst V) W / c)%Z; [|lia]. apply Z.div_pos; [|auto]. apply Z.shiftr_nonneg.
    apply Z.mul_nonneg_nonneg; now apply le_IZR.
  - apply le_IZR. rewrite plus_IZR. apply Rle_trans with (IZR s + IZR (- Z.shiftr (- (snd X * snd V)) W) / IZR c).
    + assert (0 <= x) by nra. assert (0 <= x * IZR (snd V)) by now apply Rmult_le_pos.
      assert (0 <= IZR (- Z.shiftr (- (snd X * snd V)) W) / IZR c) by (apply Rmult_le_pos; lra). lra.
    + apply Rplus_le_compat_l. now apply ceiling_ge. Qed.

(* ---------- the sequence ---------- *)
(* c_k = c + d k; from c_k on, n more members *)
Fixpoint horner (X : range) (d c : Z) (n : nat) : range :=
  match n with O => (unit, 2 * unit)%Z | S n => fold_in X (c + d) (horner X d (c + d) n) end.
Definition members (base : Z) (X : range) : nat := Z.to_nat (base + 3 * Z.shiftr (snd X) W + 1).
Lemma members_enough base X x d c : holds X x -> (0 <= base)%Z -> (1 <= d)%Z -> (1 <= c)%Z ->
  2 * x <= IZR (c + d * Z.of_nat (members base X)).
Proof. intros [X0 [X1 X2]] Hb Hd Hc. assert (SR := sR). assert (SP := s_pos).
  assert (N : (0 <= Z.shiftr (snd X) W)%Z).
  { apply Z.shiftr_nonneg. apply le_IZR. apply IZR_le in X0. lra. }
  unfold members. rewrite Z2Nat.id by lia.
  assert (K : x < IZR (Z.shiftr (snd X) W + 1)).
  { rewrite Z.shiftr_div_pow2 by lia. fold s. assert (H := Z.mul_succ_div_gt (snd X) s SP).
    apply IZR_lt in H. rewrite mult_IZR in H. unfold Z.succ in H. nra. }
  apply Rle_trans with (IZR (2 * (Z.shiftr (snd X) W + 1))); [rewrite mult_IZR; lra|]. apply IZR_le. nia. Qed.

Section Sequence.
Variables (I : nat -> R) (a x : R) (X : range) (c0 d : Z).
Hypothesis HX : holds X x.
Hypothesis Ha : 0 <= a.
Hypothesis Hc : (1 <= c0)%Z.
Hypothesis Hd : (1 <= d)%Z.
Let c (k : nat) := (c0 + d * Z.of_nat k)%Z.
Hypothesis parts : forall k, IZR (c k) * I k = a * x ^ k + I (S k).
Hypothesis less : forall k, 0 <= I (S k) <= x * I k.
Lemma horner_ok n : forall k, 2 * x <= IZR (c (k + n)) -> let V := horner X d (c k) n in
  IZR (fst V) * (a * x ^ k) <= IZR s * (IZR (c k) * I k) <= IZR (snd V) * (a * x ^ k) /\ (s <= fst V)%Z /\ (0 <= snd V)%Z.
Proof. assert (SR := sR). assert (SP := s_pos). assert (X0 : 0 <= x) by (destruct HX as [P [Q _]]; apply IZR_le in P; nra).
  induction n as [|n IH]; intros k Hk V.
  - rewrite Nat.add_0_r in Hk. unfold V; cbn [horner fst snd]. rewrite unit_ok. assert (L := less k). assert (P := parts k).
    assert (A : 0 <= a * x ^ k) by (apply Rmult_le_pos; [auto|now apply pow_le]).
    split; [|lia]. rewrite mult_IZR. assert (IK : 0 <= I k).
    { assert (C : 0 < IZR (c k)) by (apply IZR_lt; unfold c; nia).
      apply Rmult_le_reg_l with (IZR (c k)); [auto|]. rewrite Rmult_0_r, P. lra. }
    assert (H : x * I k <= IZR (c k) * I k * / 2) by (assert (2 * x * I k <= IZR (c k) * I k) by (apply Rmult_le_compat_r; auto); lra).
    rewrite Rmult_assoc. split; [|replace (2 * (IZR s * (a * x ^ k))) with (IZR s * (2 * (a * x ^ k))) by ring];
      apply Rmult_le_compat_l; lra.
  - unfold V; cbn [horner]. replace (c k + d)%Z with (c (S k)) by (unfold c; nia).
    destruct (IH (S k)) as [[L U] [Q1 Q2]]; [now replace (S k + n)%nat with (k + S n)%nat by lia|].
    set (V' := horner X d (c (S k)) n) in *.
    assert (C : (0 < c (S k))%Z) by (unfold c; nia). assert (CR : 0 < IZR (c (S k))) by now apply IZR_lt.
    destruct (fold_in_ok X x (c (S k)) V' HX C ltac:(lia) Q2) as [F1 [F2 [F3 F4]]]. split; [|auto].
    assert (A : 0 <= a * x ^ k) by (apply Rmult_le_pos; [auto|now apply pow_le]).
    rewrite parts. cbn [pow] in L, U.
    assert (E : forall v, (IZR s + x * v / IZR (c (S k))) * (a * x ^ k) = IZR s * (a * x ^ k) + v * (a * (x * x ^ k)) / IZR (c (S k)))
      by (intros; field; lra).
    assert (IC := Rinv_0_lt_compat _ CR).
    assert (D : IZR s * I (S k) = IZR s * (IZR (c (S k)) * I (S k)) / IZR (c (S k))) by (field; lra).
    rewrite Rmult_plus_distr_l, D. split.
    + eapply Rle_trans; [apply Rmult_le_compat_r; [exact A|exact F1]|]. rewrite E. apply Rplus_le_compat_l.
      unfold Rdiv; apply Rmult_le_compat_r; lra.
    + eapply Rle_trans; [|apply Rmult_le_compat_r; [exact A|exact F2]]. rewrite E. apply Rplus_le_compat_l.
      unfold Rdiv; apply Rmult_le_compat_r; lra. Qed.
End Sequence.

(* ---------- integration by parts ---------- *)
Section Parts.
Variables (E X : R -> R) (d : Z).
Hypothesis E0 : forall u, 0 < E u.
Hypothesis Ec : forall k u, continuous (fun u => X u ^ k * E u) u.
Hypothesis Xu : forall u v, 0 <= u <= v -> 0 <= X u <= X v.
Let c (k : nat) := IZR (1 + d * Z.of_nat k).
Hypothesis Hder : forall k u, is_derive (fun u => u * (X u ^ k * E u)) u (c k * (X u ^ k * E u) - X u ^ S k * E u).
Definition moment (t : R) (k : nat) : R := RInt (fun u => X u ^ k * E u) 0 t.
Lemma moment_is t k : is_RInt (fun u => X u ^ k * E u) 0 t (moment t k).
Proof. apply (RInt_correct (fun u => X u ^ k * E u)), (ex_RInt_continuous (fun u => X u ^ k * E u)). intros; apply Ec. Qed.
Lemma moment_parts t k : c k * moment t k = t * E t * X t ^ k + moment t (S k).
Proof. assert (D : is_RInt (fun u => c k * (X u ^ k * E u) - X u ^ S k * E u) 0 t (minus (t * (X t ^ k * E t)) (0 * (X 0 ^ k * E 0)))).
  { apply (is_RInt_derive (fun u => u * (X u ^ k * E u))); intros u _; [apply Hder|].
    apply (continuous_minus (fun u => c k * (X u ^ k * E u)) (fun u => X u ^ S k * E u)); [|apply Ec].
    apply (continuous_scal_r (c k) (fun u => X u ^ k * E u)), Ec. }
  assert (K : is_RInt (fun u => c k * (X u ^ k * E u) - X u ^ S k * E u) 0 t (c k * moment t k - moment t (S k))).
  { apply (is_RInt_minus (fun u => c k * (X u ^ k * E u)) (fun u => X u ^ S k * E u)); [|apply moment_is].
    apply (is_RInt_scal (fun u => X u ^ k * E u) 0 t (c k)), moment_is. }
  assert (Q := eq_trans (eq_sym (is_RInt_unique (V := R_CompleteNormedModule) _ _ _ _ D))
    (is_RInt_unique (V := R_CompleteNormedModule) _ _ _ _ K)).
  change (t * (X t ^ k * E t) + - (0 * (X 0 ^ k * E 0)) = c k * moment t k - moment t (S k)) in Q. lra. Qed.
Lemma moment_less t k : 0 <= t -> 0 <= moment t (S k) <= X t * moment t k.
Proof. intros Ht. assert (P : forall n u, 0 <= u -> 0 <= X u ^ n * E u).
  { intros n u Hu. apply Rmult_le_pos; [apply pow_le, (Xu u u); lra|left; apply E0]. }
  split.
  - apply RInt_ge_0; [auto|eexists; apply moment_is|]. intros u Hu. apply P; lra.
  - assert (K : is_RInt (fun u => X t * (X u ^ k * E u)) 0 t (X t * moment t k)).
    { apply (is_RInt_scal (fun u => X u ^ k * E u) 0 t (X t)), moment_is. }
    rewrite <- (is_RInt_unique (V := R_CompleteNormedModule) _ _ _ _ K).
    apply RInt_le; [auto|eexists; apply moment_is|eexists; exact K|]. intros u Hu. cbn [pow].
    rewrite Rmult_assoc. apply Rmult_le_compat_r; [apply P; lra|]. apply Xu; lra. Qed.
End Parts.

(* ---------- e^y ---------- *)
Definition expo (base : Z) (X : range) : range := fold_in X 1 (horner X 1 1 (members base X)).
Theorem expo_ok base X y : (0 <= base)%Z -> holds X y -> holds (expo base X) (exp y) /\ (s <= fst (expo base X))%Z.
Proof. intros Hb HX. assert (SR := sR). assert (Y0 : 0 <= y) by (destruct HX as [P [Q _]]; apply IZR_le in P; nra).
  set (E := fun u => exp (- u)). set (Id := fun u : R => u).
  assert (D : forall k u, is_derive (fun u => u * (Id u ^ k * E u)) u
      (IZR (1 + 1 * Z.of_nat k) * (Id u ^ k * E u) - Id u ^ Datatypes.S k * E u)).
  { intros k u. unfold Id, E. apply (is_derive_ext (fun u => u ^ Datatypes.S k * exp (- u))); [intros; simpl; ring|].
    auto_derive; auto. change (match k with O => 1 | Datatypes.S _ => INR k + 1 end) with (INR (Datatypes.S k)).
    replace (IZR (1 + 1 * Z.of_nat k)) with (INR (Datatypes.S k)) by (rewrite INR_IZR_INZ; f_equal; lia).
    cbn [pow]. ring. }
  assert (C : forall k u, continuous (fun u => Id u ^ k * E u) u).
  { intros k u. apply (ex_derive_continuous (fun u => Id u ^ k * E u)). unfold Id, E. auto_derive; auto. }
  assert (E0 : forall u, 0 < E u) by (intros; apply exp_pos).
  assert (Xu : forall u v, 0 <= u <= v -> 0 <= Id u <= Id v) by (unfold Id; intros; lra).
  assert (M0 : moment E Id y 0 = 1 - exp (- y)).
  { unfold moment. apply (is_RInt_unique (V := R_CompleteNormedModule)).
    replace (1 - exp (- y)) with (minus (- exp (- y)) (- exp (- 0))) by (unfold minus, plus, opp; simpl; rewrite Ropp_0, exp_0; ring).
    apply (is_RInt_derive (fun u => - exp (- u))); intros u _; [|apply C]. unfold E. auto_derive; auto. cbn [pow]. ring. }
  assert (H := horner_ok (moment E Id y) (y * E y) y X 1 1 HX ltac:(apply Rmult_le_pos; [auto|left; apply E0]) ltac:(lia) ltac:(lia)
    (moment_parts E Id 1 C D y) (fun k => moment_less E Id E0 C Xu y k Y0) (members base X) 0
    (members_enough base X y 1 1 HX Hb ltac:(lia) ltac:(lia))).
  cbv beta zeta in H. change (Z.of_nat 0) with 0%Z in H. rewrite Z.mul_0_r, Z.add_0_r in H. set (V := horner X 1 1 (members base X)) in *.
  rewrite M0 in H. destruct H as [[L U] [Q1 Q2]]. assert (SP := s_pos).
  destruct (fold_in_ok X y 1 V HX ltac:(lia) ltac:(lia) Q2) as [F1 [F2 [F3 F4]]].
  assert (P := exp_pos y). assert (N : exp (- y) * exp y = 1) by (rewrite <- exp_plus; replace (- y + y) with 0 by ring; apply exp_0).
  assert (G : forall v, v * (y * E y * y ^ 0) * exp y = y * v) by (intros; unfold E; cbn [pow]; replace (y * v) with (y * v * (exp (- y) * exp y)) by (rewrite N; ring); ring).
  assert (T : IZR s * (1 * (1 - exp (- y))) * exp y = IZR s * exp y - IZR s)
    by (replace (IZR s * (1 * (1 - exp (- y))) * exp y) with (IZR s * exp y - IZR s * (exp (- y) * exp y)) by ring; rewrite N; ring).
  apply (Rmult_le_compat_r (exp y)) in L; [|lra]. apply (Rmult_le_compat_r (exp y)) in U; [|lra]. rewrite G, T in *.
  unfold expo. fold V. split; [split; [lia|]|exact F3]. unfold Rdiv in F1, F2. rewrite Rinv_1 in F1, F2. lra. Qed.

(* ---------- the area under the normal curve ---------- *)
(* from 0 to t = p / q >= 0, with E around e^(t^2/2) *)
Definition half_square (base p q : Z) : range := expo base (quotient_range (p * p) (2 * (q * q))).
Definition area_range (base p q : Z) (E : range) : range :=
  let X := quotient_range (p * p) (q * q) in let V := horner X 2 1 (members base X) in let U := quotient_range p q in
  (fst U * fst V / snd E, ceiling (snd U * snd V) (fst E))%Z.
Lemma half_square_ok base p q : (0 <= base)%Z -> (0 < q)%Z ->
  holds (half_square base p q) (exp ((IZR p / IZR q) * (IZR p / IZR q) / 2)) /\ (s <= fst (half_square base p q))%Z.
Proof. intros Hb Hq. apply expo_ok; auto. assert (0 < IZR q) by now apply IZR_lt.
  replace (IZR p / IZR q * (IZR p / IZR q) / 2) with (IZR (p * p) / IZR (2 * (q * q))) by (rewrite !mult_IZR; field; lra).
  apply quotient_range_ok; nia. Qed.
Theorem area_ok base p q : (0 <= base)%Z -> (0 <= p)%Z -> (0 < q)%Z ->
  holds (area_range base p q (half_square base p q)) (area (IZR p / IZR q)).
Proof. intros Hb Hp Hq. assert (SR := sR). assert (SP := s_pos). assert (QR : 0 < IZR q) by now apply IZR_lt.
  set (t := IZR p / IZR q). assert (T0 : 0 <= t) by (apply Rmult_le_pos; [now apply IZR_le|left; now apply Rinv_0_lt_compat]).
  assert (HX := quotient_range_ok (p * p) (q * q) ltac:(nia) ltac:(nia)).
  replace (IZR (p * p) / IZR (q * q)) with (t * t) in HX by (unfold t; rewrite !mult_IZR; field; lra).
  assert (HU := quotient_range_ok p q Hp Hq). fold t in HU. unfold area_range.
  set (X := quotient_range (p * p) (q * q)) in *.
  set (U := quotient_range p q) in *. set (Sq := fun u : R => u * u).
  assert (D : forall k u, is_derive (fun u => u * (Sq u ^ k * g u)) u
      (IZR (1 + 2 * Z.of_nat k) * (Sq u ^ k * g u) - Sq u ^ Datatypes.S k * g u)).
  { intros k u. apply (is_derive_ext (fun u => u ^ (2 * k + 1) * g u)).
    { intros v. rewrite pow_add, pow_mult, pow_1. replace (v ^ 2) with (Sq v) by (unfold Sq; ring).
      rewrite (Rmult_comm _ v), Rmult_assoc. reflexivity. }
    assert (G := g_derive u). auto_derive; [eexists; exact G|]. rewrite (is_derive_unique (fun x : R => g x) u _ G).
    change (k + (k + 0))%nat with (2 * k)%nat.
    replace (IZR (1 + 2 * Z.of_nat k)) with (INR (2 * k + 1)) by (rewrite INR_IZR_INZ; f_equal; lia).
    replace (Init.Nat.pred (2 * k + 1)) with (2 * k)%nat by lia. rewrite pow_add, !pow_mult.
    replace (u ^ 2) with (Sq u) by (unfold Sq; ring). cbn [pow]. unfold Sq. ring. }
  assert (C : forall k u, continuous (fun u => Sq u ^ k * g u) u).
  { intros k u. apply (ex_derive_continuous (fun u => Sq u ^ k * g u)). unfold Sq. auto_derive. eexists; apply g_derive. }
  assert (Xu : forall u v, 0 <= u <= v -> 0 <= Sq u <= Sq v) by (unfold Sq; intros; split; nra).
  assert (M0 : moment g Sq t 0 = area t) by (apply RInt_ext; intros; cbn [pow]; apply Rmult_1_l).
  assert (H := horner_ok (moment g Sq t) (t * g t) (Sq t) X 1 2 HX ltac:(apply Rmult_le_pos; [auto|left; apply g_pos]) ltac:(lia) ltac:(lia)
    (moment_parts g Sq 2 C D t) (fun k => moment_less g Sq g_pos C Xu t k T0) (members base X) 0
    (members_enough base X (Sq t) 2 1 HX Hb ltac:(lia) ltac:(lia))).
  cbv beta zeta in H. change (Z.of_nat 0) with 0%Z in H. rewrite Z.mul_0_r, Z.add_0_r in H. set (V := horner X 2 1 (members base X)) in *.
  rewrite M0 in H. cbn [pow] in H. rewrite Rmult_1_r, Rmult_1_l in H. destruct H as [[L R] [Q1 Q2]].
  destruct (half_square_ok base p q Hb Hq) as [[E0 [E1 E2]] E3]. set (E := half_square base p q) in *. fold t in E1, E2. destruct HU as [U0 [U1 U2]].
  assert (P := exp_pos (t * t / 2)). assert (N : g t * exp (t * t / 2) = 1).
  { unfold g. rewrite <- exp_plus. replace (- t ^ 2 / 2 + t * t / 2) with 0 by field. apply exp_0. }
  assert (G0 := g_pos t). assert (V0 : 0 <= IZR (fst V)) by (apply IZR_le; lia). assert (V1 := IZR_le _ _ Q2).
  assert (ES : 0 < IZR (fst E)) by (apply IZR_lt; lia). assert (ES2 : 0 < IZR (snd E)) by lra.
  assert (ES3 : (0 < snd E)%Z) by now apply lt_IZR. apply IZR_le in U0.
  split; cbn [fst snd]; [apply Z.div_pos; [apply Z.mul_nonneg_nonneg; now apply le_IZR|auto]|]. split.
  - eapply Rle_trans; [now apply div_le|]. rewrite mult_IZR. apply Rmult_le_reg_r with (IZR (snd E)); auto.
    unfold Rdiv; rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    apply Rle_trans with (IZR s * t * IZR (fst V)); [apply Rmult_le_compat_r; auto|].
    replace (IZR s * t * IZR (fst V)) with (IZR (fst V) * (t * g t) * (IZR s * exp (t * t / 2)))
      by (replace (IZR (fst V) * (t * g t) * (IZR s * exp (t * t / 2))) with (IZR s * t * IZR (fst V) * (g t * exp (t * t / 2))) by ring; rewrite N; ring).
    assert (0 <= IZR s * exp (t * t / 2)) by (apply Rmult_le_pos; lra).
    apply Rmult_le_compat; auto. apply Rmult_le_pos; [auto|apply Rmult_le_pos; lra].
  - eapply Rle_trans; [|apply ceiling_ge; lia]. rewrite mult_IZR. apply Rmult_le_reg_r with (IZR (fst E)); auto.
    unfold Rdiv; rewrite (Rmult_assoc (_ * _)), Rinv_l, Rmult_1_r by lra.
    apply Rle_trans with (IZR s * t * IZR (snd V)); [|apply Rmult_le_compat_r; auto].
    replace (IZR s * t * IZR (snd V)) with (IZR (snd V) * (t * g t) * (IZR s * exp (t * t / 2)))
      by (replace (IZR (snd V) * (t * g t) * (IZR s * exp (t * t / 2))) with (IZR s * t * IZR (snd V) * (g t * exp (t * t / 2))) by ring; rewrite N; ring).
    apply Rmult_le_compat; try lra. apply Rmult_le_pos; [lra|]. assert (A := area_grows 0 t T0).
    replace (area 0) with 0 in A by (symmetry; apply (RInt_point 0 g)). exact A. Qed.
End Unit.
