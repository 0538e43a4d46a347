(* 22. The program of the line: the sum of line_independent between integers.

   An interval is two integers in units of 2^-W, or None: nothing is known.  Every operation is total and keeps what it
   encloses (the lemmas that end in `_in`).  e^x by exp_below and exp_above near 0 and squaring, cos and sin by the
   alternating sums of the standard library near 0 and doubling, pi by Machin's, powers by binary powering.
     line_ok_bounds: what acceptance means for any one-step transform that is within E of that of finitely many atoms at
       the frequencies that are added up, with stated moments and a stated bound beyond;
     line_ok_independent, line_ok_sampled_gaussian: so for k independent outputs of any kind, and of sampled Gaussian steps,
       if they have such a transform, which no program of this folder decides;
     line_atoms_ok_bounds: for finitely many atoms nothing is left to be assumed: the program evaluates the moments, and E
       is 0. *)
Require Import Reals ZArith List Lra Lia Bool.
Require Import Machin Ratan.
From Coquelicot Require Import Coquelicot.
From VerifiedDP Require Chernoff.
From VerifiedDP Require Import Law HockeyStick Exponential Enclosures Integral Normal Space SampledGaussian Continuous Fourier Trapezoid Line.
Import ListNotations.
Open Scope Z_scope.

Definition ivl := option (Z * Z).
Section Unit.
Variable W : Z.
Hypothesis HW : 0 <= W.
Let s := 2 ^ W.
Definition inn (X : ivl) (x : R) : Prop := match X with None => True | Some (a, b) => (IZR a <= IZR s * x <= IZR b)%R end.
Definition up (z : Z) : Z := - Z.shiftr (- z) W.
Definition iz (n : Z) : ivl := Some (Z.shiftl n W, Z.shiftl n W).
Definition iq (p q : Z) : ivl := if 0 <? q then Some (Z.shiftl p W / q, ceiling (Z.shiftl p W) q) else None.
Definition iadd (X Y : ivl) : ivl := match X, Y with Some (a, b), Some (c, d) => Some (a + c, b + d) | _, _ => None end.
Definition ineg (X : ivl) : ivl := match X with Some (a, b) => Some (- b, - a) | None => None end.
Definition isub X Y := iadd X (ineg Y).
Definition imul (X Y : ivl) : ivl := match X, Y with
  | Some (a, b), Some (c, d) => Some (Z.shiftr (Z.min (Z.min (a * c) (a * d)) (Z.min (b * c) (b * d))) W, up (Z.max (Z.max (a * c) (a * d)) (Z.max (b * c) (b * d))))
  | _, _ => None end.
Definition idivz (X : ivl) (n : Z) : ivl := match X with Some (a, b) => if 0 <? n then Some (a / n, ceiling b n) else None | None => None end.
Definition iinv (X : ivl) : ivl := match X with Some (a, b) => if 0 <? a then Some (Z.shiftl 1 (2 * W) / b, ceiling (Z.shiftl 1 (2 * W)) a) else None | None => None end.
(* between the lower end of one and the upper end of another *)
Definition between (X Y : ivl) : ivl := match X, Y with Some (a, _), Some (_, b) => Some (a, b) | _, _ => None end.
Definition inflate (e : Z) (X : ivl) : ivl := match X with Some (a, b) => Some (a - e, b + e) | None => None end.
Open Scope R_scope.
Lemma s0 : 0 < IZR s.
Proof. apply IZR_lt, Z.pow_pos_nonneg; lia. Qed.
Lemma shl n : IZR (Z.shiftl n W) = IZR s * IZR n.
Proof. rewrite Z.shiftl_mul_pow2, mult_IZR by lia. fold s. ring. Qed.
Lemma down_le z : IZR (Z.shiftr z W) * IZR s <= IZR z.
Proof. assert (S := s0). assert (K := Enclosures.shiftr_le W HW z). fold s in K. apply (Rmult_le_compat_r (IZR s)) in K; [|lra]. unfold Rdiv in K. rewrite Rmult_assoc, Rinv_l in K; lra. Qed.
Lemma up_ge z : IZR z <= IZR (up z) * IZR s.
Proof. assert (K := down_le (- z)). unfold up. rewrite opp_IZR in *. lra. Qed.
Lemma iz_in n : inn (iz n) (IZR n).
Proof. cbn. rewrite shl. lra. Qed.
Lemma iq_in p q : inn (iq p q) (IZR p / IZR q).
Proof. unfold iq. destruct (Z.ltb_spec 0 q) as [Q|]; [|exact Logic.I]. cbn. assert (Q0 := IZR_lt _ _ Q).
  replace (IZR s * (IZR p / IZR q)) with (IZR (Z.shiftl p W) / IZR q) by (rewrite shl; field; lra). split; [now apply div_le|now apply ceiling_ge]. Qed.
Lemma iadd_in X Y x y : inn X x -> inn Y y -> inn (iadd X Y) (x + y).
Proof. destruct X as [[a b]|], Y as [[c d]|]; cbn; auto. rewrite !plus_IZR. lra. Qed.
Lemma ineg_in X x : inn X x -> inn (ineg X) (- x).
Proof. destruct X as [[a b]|]; cbn; auto. rewrite !opp_IZR. lra. Qed.
Lemma isub_in X Y x y : inn X x -> inn Y y -> inn (isub X Y) (x - y).
Proof. intros. unfold isub, Rminus. apply iadd_in; auto using ineg_in. Qed.
(* one factor between two numbers *)
Lemma mul_between a b x y : a <= x <= b -> Rmin (a * y) (b * y) <= x * y <= Rmax (a * y) (b * y).
Proof. intros H. destruct (Rle_dec 0 y); [rewrite Rmin_left, Rmax_right by nra|rewrite Rmin_right, Rmax_left by nra]; nra. Qed.
Lemma imul_in X Y x y : inn X x -> inn Y y -> inn (imul X Y) (x * y).
Proof. destruct X as [[a b]|], Y as [[c d]|]; cbn; auto. intros HX HY. assert (S := s0). set (lo := Z.min _ _). set (hi := Z.max _ _).
  set (u := IZR s * x) in *. set (v := IZR s * y) in *. assert (E : IZR s * (x * y) * IZR s = u * v) by (unfold u, v; ring).
  assert (L : IZR lo <= u * v <= IZR hi).
  { assert (L1 : (lo <= a * c /\ lo <= a * d /\ lo <= b * c /\ lo <= b * d)%Z) by (unfold lo; lia). assert (H1 : (a * c <= hi /\ a * d <= hi /\ b * c <= hi /\ b * d <= hi)%Z) by (unfold hi; lia).
    destruct L1 as [A1 [A2 [A3 A4]]], H1 as [B1 [B2 [B3 B4]]]. apply IZR_le in A1, A2, A3, A4, B1, B2, B3, B4. rewrite mult_IZR in *.
    destruct (mul_between _ _ _ v HX) as [M1 M2]. destruct (mul_between _ _ _ (IZR a) HY) as [N1 N2]. destruct (mul_between _ _ _ (IZR b) HY) as [N3 N4].
    unfold Rmin, Rmax in *. repeat match goal with H : context [Rle_dec ?x ?y] |- _ => destruct (Rle_dec x y) end; lra. }
  assert (D := down_le lo). assert (U := up_ge hi). split; apply Rmult_le_reg_r with (IZR s); auto; lra. Qed.
Lemma idivz_in X n x : inn X x -> inn (idivz X n) (x / IZR n).
Proof. destruct X as [[a b]|]; cbn; auto. intros [H1 H2]. destruct (Z.ltb_spec 0 n) as [N|]; [|exact Logic.I]. cbn. assert (N0 := IZR_lt _ _ N).
  assert (D := div_le a n N). assert (U := ceiling_ge b n N). assert (I := Rinv_0_lt_compat _ N0).
  replace (IZR s * (x / IZR n)) with (IZR s * x / IZR n) by (field; lra). unfold Rdiv in *. apply (Rmult_le_compat_r (/ IZR n)) in H1, H2; lra. Qed.
Lemma iinv_in X x : inn X x -> inn (iinv X) (/ x).
Proof. destruct X as [[a b]|]; cbn; auto. intros [H1 H2]. destruct (Z.ltb_spec 0 a) as [A|]; [|exact Logic.I]. cbn. assert (A0 := IZR_lt _ _ A). assert (S := s0).
  assert (X0 : 0 < x) by (apply Rmult_lt_reg_l with (IZR s); lra). assert (B : (0 < b)%Z) by (apply lt_IZR; lra). assert (B0 := IZR_lt _ _ B).
  assert (E : IZR (Z.shiftl 1 (2 * W)) = IZR s * IZR s) by (rewrite Z.shiftl_mul_pow2, Z.mul_1_l by lia; unfold s; rewrite <- mult_IZR, <- Z.pow_add_r by lia; do 2 f_equal; lia).
  assert (D := div_le (Z.shiftl 1 (2 * W)) b B). assert (U := ceiling_ge (Z.shiftl 1 (2 * W)) a A). rewrite E in D, U.
  assert (EQ : IZR s * / x = IZR s * IZR s * / (IZR s * x)) by (field; lra). rewrite EQ. assert (Q : 0 <= IZR s * IZR s) by nra. unfold Rdiv in *. split.
  - eapply Rle_trans; [exact D|]. apply Rmult_le_compat_l; auto. apply Rinv_le_contravar; lra.
  - eapply Rle_trans; [|exact U]. apply Rmult_le_compat_l; auto. apply Rinv_le_contravar; lra. Qed.
Lemma between_in X Y x y z : inn X x -> inn Y y -> x <= z <= y -> inn (between X Y) z.
Proof. destruct X as [[a b]|], Y as [[c d]|]; cbn; auto. intros H1 H2 H. assert (S := s0). nra. Qed.
Lemma inflate_in e X x y : inn X x -> Rabs (y - x) * IZR s <= IZR e -> inn (inflate e X) y.
Proof. destruct X as [[a b]|]; cbn; auto. intros H1 H2. assert (S := s0). rewrite minus_IZR, plus_IZR. assert (K : -IZR e <= IZR s * (y - x) <= IZR e); [|lra].
  apply Rabs_le_between. rewrite Rabs_mult, (Rabs_pos_eq (IZR s)) by lra. lra. Qed.

(* ---------- powers ---------- *)
Fixpoint ipow (X : ivl) (k : positive) : ivl := match k with xH => X | xO k => let Y := ipow X k in imul Y Y | xI k => let Y := ipow X k in imul X (imul Y Y) end.
Lemma ipow_in X x k : inn X x -> inn (ipow X k) (x ^ Pos.to_nat k).
Proof. intros H. induction k as [k IH|k IH|]; cbn [ipow].
  - rewrite Pos2Nat.inj_xI. cbn [pow]. rewrite pow_mult. replace ((x ^ 2) ^ Pos.to_nat k) with (x ^ Pos.to_nat k * x ^ Pos.to_nat k) by (rewrite <- Rpow_mult_distr; f_equal; ring). auto using imul_in.
  - rewrite Pos2Nat.inj_xO, pow_mult. replace ((x ^ 2) ^ Pos.to_nat k) with (x ^ Pos.to_nat k * x ^ Pos.to_nat k) by (rewrite <- Rpow_mult_distr; f_equal; ring). auto using imul_in.
  - change (Pos.to_nat 1) with 1%nat. now rewrite pow_1. Qed.
Definition civl := (ivl * ivl)%type.
Definition cinn (A : civl) (z : C) : Prop := inn (fst A) (fst z) /\ inn (snd A) (snd z).
Definition cadd (A B : civl) : civl := (iadd (fst A) (fst B), iadd (snd A) (snd B)).
Definition cmul (A B : civl) : civl := (isub (imul (fst A) (fst B)) (imul (snd A) (snd B)), iadd (imul (fst A) (snd B)) (imul (snd A) (fst B))).
Definition cscale (X : ivl) (A : civl) : civl := (imul X (fst A), imul X (snd A)).
Definition cinv (A : civl) : civl := let n := iinv (iadd (imul (fst A) (fst A)) (imul (snd A) (snd A))) in (imul (fst A) n, imul (ineg (snd A)) n).
Lemma cadd_in A B x y : cinn A x -> cinn B y -> cinn (cadd A B) (x + y)%C.
Proof. intros [? ?] [? ?]. split; cbn [cadd Cplus fst snd]; now apply iadd_in. Qed.
Lemma cmul_in A B x y : cinn A x -> cinn B y -> cinn (cmul A B) (x * y)%C.
Proof. intros [? ?] [? ?]. split; cbn [cmul Cmult fst snd]; auto using iadd_in, isub_in, imul_in. Qed.
Lemma cscale_in X A x y : inn X x -> cinn A y -> cinn (cscale X A) (x * fst y, x * snd y).
Proof. intros ? [? ?]. split; cbn [cscale fst snd]; auto using imul_in. Qed.
Lemma cinv_in A x : cinn A x -> cinn (cinv A) (/ x)%C.
Proof. intros [? ?]. split; cbn [cinv Cinv fst snd]; unfold Rdiv; replace (fst x ^ 2 + snd x ^ 2) with (fst x * fst x + snd x * snd x) by ring; auto using iinv_in, imul_in, iadd_in, ineg_in. Qed.
Fixpoint cipow (A : civl) (k : positive) : civl := match k with xH => A | xO k => let B := cipow A k in cmul B B | xI k => let B := cipow A k in cmul A (cmul B B) end.
Lemma cpow_plus z m n : cpow z (m + n) = (cpow z m * cpow z n)%C.
Proof. induction m as [|m IH]; cbn [cpow Nat.add]; [now rewrite Cmult_1_l|]. now rewrite IH, Cmult_assoc. Qed.
Lemma cipow_in A z k : cinn A z -> cinn (cipow A k) (cpow z (Pos.to_nat k)).
Proof. intros H. induction k as [k IH|k IH|]; cbn [cipow].
  - rewrite Pos2Nat.inj_xI. cbn [cpow]. replace (2 * Pos.to_nat k)%nat with (Pos.to_nat k + Pos.to_nat k)%nat by lia. rewrite cpow_plus. auto using cmul_in.
  - rewrite Pos2Nat.inj_xO. replace (2 * Pos.to_nat k)%nat with (Pos.to_nat k + Pos.to_nat k)%nat by lia. rewrite cpow_plus. auto using cmul_in.
  - change (Pos.to_nat 1) with 1%nat. cbn [cpow]. now rewrite Cmult_1_r. Qed.

(* ---------- e^x, cos and sin of rationals ---------- *)
Definition halvings (p q : Z) : nat := Z.to_nat (Z.log2 (Z.abs p / q) + 6).
Fixpoint isquares (j : nat) (X : ivl) : ivl := match j with O => X | Datatypes.S j => let Y := isquares j X in imul Y Y end.
Definition iexp (p q : Z) : ivl := if 0 <? q then
    let j := halvings p q in let d := (q * 2 ^ Z.of_nat j)%Z in let X := Some (exp_below W (Z.abs p) d, exp_above W (Z.abs p) d) in
    isquares j (if 0 <? p then iinv X else X)%Z else None.
Lemma isquares_in j X y : inn X (exp y) -> inn (isquares j X) (exp (2 ^ j * y)).
Proof. intros H. induction j as [|j IH]; cbn [isquares pow]; [now rewrite Rmult_1_l|]. replace (2 * 2 ^ j * y) with (2 ^ j * y + 2 ^ j * y) by ring. rewrite exp_plus. now apply imul_in. Qed.
Lemma halved j : IZR (2 ^ Z.of_nat j) = 2 ^ j.
Proof. now rewrite <- pow_IZR. Qed.
Lemma iexp_in p q : inn (iexp p q) (exp (IZR p / IZR q)).
Proof. unfold iexp. destruct (Z.ltb_spec 0 q) as [Q|]; [|exact Logic.I]. set (j := halvings p q). set (d := (q * 2 ^ Z.of_nat j)%Z). assert (Q0 := IZR_lt _ _ Q).
  assert (J : 0 < 2 ^ j) by (apply pow_lt; lra). assert (D0 : (0 < d)%Z) by (unfold d; assert (0 < 2 ^ Z.of_nat j)%Z by (apply Z.pow_pos_nonneg; lia); nia).
  assert (DR : IZR d = IZR q * 2 ^ j) by (unfold d; now rewrite mult_IZR, halved).
  assert (B : inn (Some (exp_below W (Z.abs p) d, exp_above W (Z.abs p) d)) (exp (- (IZR (Z.abs p) / IZR d)))) by (cbn; split; [apply exp_below_ok|apply exp_above_ok]; lia).
  replace (IZR p / IZR q) with (2 ^ j * (IZR p / IZR d)) by (rewrite DR; field; lra). apply isquares_in. destruct (Z.ltb_spec 0 p).
  - apply iinv_in in B. rewrite <- exp_Ropp, Ropp_involutive in B. replace (IZR p) with (IZR (Z.abs p)) by (f_equal; lia). exact B.
  - replace (IZR p / IZR d) with (- (IZR (Z.abs p) / IZR d)) by (rewrite Z.abs_neq, opp_IZR by lia; field; rewrite DR; nra). exact B. Qed.
(* terms and sums of the series of cos (o = 0) and sin (o = 1) *)
Fixpoint series (T0 Y2 : ivl) (o : Z) (n : nat) : ivl * ivl := match n with O => (T0, T0) | Datatypes.S n =>
  let '(S, T) := series T0 Y2 o n in let i := (2 * Z.of_nat n)%Z in let T := ineg (idivz (imul T Y2) ((i + 1 + o) * (i + 2 + o))) in (iadd S T, T) end.
Lemma cos_term_S y n : cos_term y (Datatypes.S n) = - (cos_term y n * (y * y) / IZR ((2 * Z.of_nat n + 1 + 0) * (2 * Z.of_nat n + 2 + 0))).
Proof. unfold cos_term. replace (2 * Datatypes.S n)%nat with (Datatypes.S (Datatypes.S (2 * n))) by lia. rewrite !fact_simpl, !mult_INR.
  rewrite mult_IZR. replace (2 * Z.of_nat n + 1 + 0)%Z with (Z.of_nat (Datatypes.S (2 * n))) by lia. replace (2 * Z.of_nat n + 2 + 0)%Z with (Z.of_nat (Datatypes.S (Datatypes.S (2 * n)))) by lia.
  rewrite <- !INR_IZR_INZ. cbn [pow]. assert (F := INR_fact_neq_0 (2 * n)). assert (A := not_0_INR (Datatypes.S (2 * n)) ltac:(lia)). assert (B := not_0_INR (Datatypes.S (Datatypes.S (2 * n))) ltac:(lia)). field. auto. Qed.
Lemma sin_term_S y n : sin_term y (Datatypes.S n) = - (sin_term y n * (y * y) / IZR ((2 * Z.of_nat n + 1 + 1) * (2 * Z.of_nat n + 2 + 1))).
Proof. unfold sin_term. replace (2 * Datatypes.S n + 1)%nat with (Datatypes.S (Datatypes.S (2 * n + 1))) by lia. rewrite !fact_simpl, !mult_INR.
  rewrite mult_IZR. replace (2 * Z.of_nat n + 1 + 1)%Z with (Z.of_nat (Datatypes.S (2 * n + 1))) by lia. replace (2 * Z.of_nat n + 2 + 1)%Z with (Z.of_nat (Datatypes.S (Datatypes.S (2 * n + 1)))) by lia.
  rewrite <- !INR_IZR_INZ. cbn [pow]. assert (F := INR_fact_neq_0 (2 * n + 1)). assert (A := not_0_INR (Datatypes.S (2 * n + 1)) ltac:(lia)). assert (B := not_0_INR (Datatypes.S (Datatypes.S (2 * n + 1))) ltac:(lia)). field. auto. Qed.
Lemma series_in T0 Y2 o (f : nat -> R) y2 : inn T0 (f O) -> inn Y2 y2 -> (forall n, f (Datatypes.S n) = - (f n * y2 / IZR ((2 * Z.of_nat n + 1 + o) * (2 * Z.of_nat n + 2 + o)))) ->
  forall n, inn (fst (series T0 Y2 o n)) (sum_f_R0 f n) /\ inn (snd (series T0 Y2 o n)) (f n).
Proof. intros H0 HY HF. induction n as [|n [IH1 IH2]]; [now split|]. cbn [series sum_f_R0]. destruct (series T0 Y2 o n) as [S T]. cbn [fst snd] in *. rewrite HF.
  split; [apply iadd_in; auto|]; apply ineg_in, idivz_in, imul_in; auto. Qed.
Fixpoint csquares (j : nat) (A : civl) : civl := match j with O => A | Datatypes.S j => let B := csquares j A in cmul B B end.
Definition turn (x : R) : C := (cos x, sin x).
Lemma turn_plus x y : turn (x + y) = (turn x * turn y)%C.
Proof. unfold turn, Cmult. cbn [fst snd]. rewrite cos_plus, sin_plus. f_equal; ring. Qed.
Lemma csquares_in j A y : cinn A (turn y) -> cinn (csquares j A) (turn (2 ^ j * y)).
Proof. intros H. induction j as [|j IH]; cbn [csquares pow]; [now rewrite Rmult_1_l|]. replace (2 * 2 ^ j * y) with (2 ^ j * y + 2 ^ j * y) by ring. rewrite turn_plus. now apply cmul_in. Qed.
Definition iturn (n : nat) (p q : Z) : civl := if 0 <? q then
    let j := halvings p q in let d := (q * 2 ^ Z.of_nat j)%Z in
    if (Z.abs p <=? 2 * d)%Z then let Y := iq (Z.abs p) d in let Y2 := imul Y Y in
      let f T o := between (fst (series T Y2 o (2 * n + 1))) (fst (series T Y2 o (2 * (n + 1)))) in
      let '(a, b) := csquares j (f (iz 1) 0%Z, f Y 1%Z) in (a, if (p <? 0)%Z then ineg b else b)
    else (None, None) else (None, None).
Lemma iturn_in n p q : cinn (iturn n p q) (turn (IZR p / IZR q)).
Proof. unfold iturn. destruct (Z.ltb_spec 0 q) as [Q|]; [|split; exact Logic.I]. set (j := halvings p q). set (d := (q * 2 ^ Z.of_nat j)%Z). assert (Q0 := IZR_lt _ _ Q).
  destruct (Z.leb_spec (Z.abs p) (2 * d)) as [P|]; [|split; exact Logic.I].
  assert (J : 0 < 2 ^ j) by (apply pow_lt; lra). assert (DR : IZR d = IZR q * 2 ^ j) by (unfold d; now rewrite mult_IZR, halved). assert (D0 : 0 < IZR d) by (rewrite DR; nra).
  set (y := IZR (Z.abs p) / IZR d). set (Y := iq (Z.abs p) d). assert (IY : inn Y y) by apply iq_in. assert (I2 := imul_in _ _ _ _ IY IY).
  assert (Y0 : 0 <= y <= 2).
  { apply IZR_le in P. rewrite mult_IZR in P. assert (A := IZR_le _ _ (Z.abs_nonneg p)). unfold y. split; [apply Rmult_le_pos; [lra|left; now apply Rinv_0_lt_compat]|].
    apply Rmult_le_reg_r with (IZR d); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
  assert (C0 : inn (iz 1) (cos_term y 0)) by (replace (cos_term y 0) with 1 by (unfold cos_term; simpl; field); apply iz_in).
  assert (S0 : inn Y (sin_term y 0)) by (replace (sin_term y 0) with y by (unfold sin_term; simpl; field); exact IY).
  assert (SC := series_in _ _ 0%Z (cos_term y) _ C0 I2 (cos_term_S y)). assert (SS := series_in _ _ 1%Z (sin_term y) _ S0 I2 (sin_term_S y)).
  set (A := csquares j _). assert (HA : cinn A (turn (2 ^ j * y))).
  { apply csquares_in. split; cbn [turn fst snd].
    - eapply between_in; [apply SC|apply SC|]. apply pre_cos_bound; lra.
    - eapply between_in; [apply SS|apply SS|]. apply pre_sin_bound; lra. }
  replace (2 ^ j * y) with (IZR (Z.abs p) / IZR q) in HA by (unfold y; rewrite DR; field; lra). destruct A as [a b], HA as [HA1 HA2]. cbn [turn fst snd] in *.
  split; cbn [turn fst snd]; destruct (Z.ltb_spec p 0).
  - rewrite Z.abs_neq, opp_IZR in HA1 by lia. replace (- IZR p / IZR q) with (- (IZR p / IZR q)) in HA1 by (field; lra). now rewrite cos_neg in HA1.
  - now rewrite Z.abs_eq in HA1 by lia.
  - rewrite Z.abs_neq, opp_IZR in HA2 by lia. replace (- IZR p / IZR q) with (- (IZR p / IZR q)) in HA2 by (field; lra). rewrite sin_neg in HA2. apply ineg_in in HA2. now rewrite Ropp_involutive in HA2.
  - now rewrite Z.abs_eq in HA2 by lia. Qed.

(* ---------- pi ---------- *)
Definition machin (n : nat) : ivl := let i := (2 * Z.of_nat n + 1)%Z in iadd (iq 2 (i * 3 ^ i)) (iq 1 (i * 7 ^ i)).
Fixpoint machins (n : nat) : ivl := match n with O => machin O | Datatypes.S m => iadd (machins m) (if Nat.even n then machin n else ineg (machin n)) end.
Definition ipi (n : nat) : ivl := imul (iz 4) (between (machins (Datatypes.S (2 * n))) (machins (2 * n))).
Lemma machin_in n : inn (machin n) (PI_2_3_7_tg n).
Proof. unfold machin, PI_2_3_7_tg, Ratan_seq. set (i := (2 * Z.of_nat n + 1)%Z). assert (I : i = Z.of_nat (2 * n + 1)) by (unfold i; lia).
  assert (K : forall a, (0 < a)%Z -> (/ IZR a) ^ (2 * n + 1) / INR (2 * n + 1) = / IZR (i * a ^ i)).
  { intros a Ha. apply IZR_lt in Ha. rewrite mult_IZR, I, <- pow_IZR, <- INR_IZR_INZ, pow_inv. assert (N := not_0_INR (2 * n + 1) ltac:(lia)). assert (P := pow_lt (IZR a) (2 * n + 1) Ha). field. split; lra. }
  rewrite !K by lia. apply iadd_in; [|replace (/ IZR (i * 7 ^ i)) with (1 / IZR (i * 7 ^ i)) by (unfold Rdiv; ring)]; apply iq_in. Qed.
Lemma machins_in n : inn (machins n) (sum_f_R0 (tg_alt PI_2_3_7_tg) n).
Proof. induction n as [|n IH].
  - cbn [machins sum_f_R0]. unfold tg_alt. rewrite pow_O, Rmult_1_l. apply machin_in.
  - cbn [machins sum_f_R0]. apply iadd_in; auto. unfold tg_alt. set (m := Datatypes.S n). destruct (Nat.even m) eqn:E.
    + apply Nat.even_spec in E as [h ->]. rewrite pow_1_even, Rmult_1_l. apply machin_in.
    + assert (O : Nat.odd m = true) by (unfold Nat.odd; now rewrite E). apply Nat.odd_spec in O as [h ->]. rewrite Nat.add_1_r, pow_1_odd. replace (-1 * _) with (- PI_2_3_7_tg (Datatypes.S (2 * h))) by ring. apply ineg_in, machin_in. Qed.
Lemma ipi_in n : inn (ipi n) PI.
Proof. unfold ipi. replace PI with (4 * (PI / 4)) by field. apply imul_in; [apply iz_in|]. eapply between_in; [apply machins_in|apply machins_in|]. apply PI_2_3_7_ineq. Qed.
(* ---------- the line ---------- *)
Open Scope Z_scope.
Record line_problem := { l_above : bool; l_terms : Z; l_steps : positive; l_eps : Z * Z; l_c : Z * Z; l_right : Z * Z; l_left : Z * Z; l_step : Z * Z;
  l_count : Z; l_atoms : list ((Z * Z) * Z); l_error : Z; l_moment_right : Z; l_moment_left : Z; l_beyond : Z; l_bound : Z }.
Definition rat (a : Z * Z) : R := (IZR (fst a) / IZR (snd a))%R.
Definition irat (a : Z * Z) : ivl := iq (fst a) (snd a).
Definition times_rat (a b : Z * Z) : Z * Z := (fst a * fst b, snd a * snd b).
Definition minus_rat (a b : Z * Z) : Z * Z := (fst a * snd b - fst b * snd a, snd a * snd b).
Definition pos_rat (a : Z * Z) : bool := (0 <? fst a) && (0 <? snd a).
Definition turn_of (n : nat) (a : Z * Z) : civl := iturn n (fst a) (snd a).
Definition exp_of (a : Z * Z) : ivl := iexp (fst a) (snd a).
Definition turned (U : civl) (m : nat) : civl := match m with O => (iz 1, iz 0) | _ => cipow U (Pos.of_nat m) end.
(* e^(a + i m b) of rationals, the turn by b being known *)
Definition cis_of (A : ivl) (U : civl) (m : nat) : civl := cscale A (turned U m).
Definition whole (z : Z) : ivl := Some (z, z).
Fixpoint atoms_at (l : list (ivl * civl)) (m : nat) : civl := match l with [] => (iz 0, iz 0) | (A, U) :: l => cadd (cis_of A U m) (atoms_at l m) end.
Section Problem.
Variable p : line_problem.
Let n := Z.to_nat (l_terms p).
Let k := l_steps p.
Let c := l_c p.
Definition known_of : list ((Z * Z) * Z) -> list (ivl * civl) := map (fun a => (imul (whole (snd a)) (exp_of (times_rat c (fst a))), turn_of n (times_rat (l_step p) (fst a)))).
Definition one_term (known : list (ivl * civl)) (eps_exp : ivl) (eps_turn : civl) (m : nat) : ivl :=
  let M := atoms_at known m in let M := (inflate (l_error p) (fst M), inflate (l_error p) (snd M)) in
  let z := (irat c, irat (times_rat (Z.of_nat m, 1) (l_step p))) in
  fst (cmul (cmul (cipow M k) (cis_of eps_exp eps_turn m)) (cinv (cmul z (cadd z (iz 1, iz 0))))).
Fixpoint terms_sum (f : nat -> ivl) (m : nat) : ivl := match m with O => iz 0 | Datatypes.S m => iadd (terms_sum f m) (f m) end.
Definition neg_rat (a : Z * Z) : Z * Z := (- fst a, snd a).
Definition eps_exp : ivl := exp_of (neg_rat (times_rat c (l_eps p))).
Definition the_sum (pi : ivl) : ivl :=
  let f := one_term (known_of (l_atoms p)) eps_exp (turn_of n (neg_rat (times_rat (l_step p) (l_eps p)))) in
  imul (imul (irat (l_step p)) (iinv (imul (iz 2) pi))) (iadd (f O) (imul (iz 2) (terms_sum (fun m => f (Datatypes.S m)) (Z.to_nat (l_count p))))).
Definition the_tail (pi : ivl) : ivl :=
  imul (imul eps_exp (ipow (whole (l_beyond p)) k)) (iinv (imul pi (irat (times_rat (l_count p, 1) (l_step p))))).
(* e^(-d X) / (1 - e^(-d X)), X = 2 pi / step: from 0 to its value at the lower end of X *)
Definition the_ratio (pi : ivl) (d : Z * Z) : ivl := match imul (imul (iz 2) pi) (iinv (irat (l_step p))) with
  | Some (lo, _) => if 0 <? lo then let x := between (iz 0) (exp_of (neg_rat (times_rat d (lo, 2 ^ W)))) in imul x (iinv (isub (iz 1) x)) else None
  | None => None end.
Definition one_alias (pi : ivl) (r d : Z * Z) (M : Z) : ivl :=
  imul (imul (exp_of (neg_rat (times_rat r (l_eps p)))) (ipow (whole M) k)) (the_ratio pi d).
Definition the_aliases (pi : ivl) : ivl :=
  iadd (one_alias pi (l_right p) (minus_rat (l_right p) c) (l_moment_right p)) (one_alias pi (l_left p) (minus_rat c (l_left p)) (l_moment_left p)).
Definition line_ok : bool :=
  pos_rat (l_left p) && pos_rat (minus_rat c (l_left p)) && pos_rat c && pos_rat (minus_rat (l_right p) c) && pos_rat (l_right p) && pos_rat (l_step p)
  && (0 <? snd (l_eps p)) && forallb (fun a => 0 <? snd (fst a)) (l_atoms p) && (0 <? l_count p) && (0 <=? l_error p) &&
  let pi := ipi n in match the_sum pi, the_tail pi with
  | Some (a, b), Some (_, t) => if l_above p then b + t <=? l_bound p else
      match the_aliases pi with Some (_, al) => l_bound p <=? a - t - al | None => false end
  | _, _ => false end.

Open Scope R_scope.
Definition period : R := 2 * PI / rat (l_step p).
Definition masses : list ((Z * Z) * Z) -> list (R * R) := map (fun a => (rat (fst a), IZR (snd a) / IZR s)).
Lemma rat_times a b : (0 < snd a)%Z -> (0 < snd b)%Z -> rat (times_rat a b) = rat a * rat b.
Proof. intros A B. apply IZR_lt in A, B. unfold rat, times_rat. cbn [fst snd]. rewrite !mult_IZR. field. lra. Qed.
Lemma rat_minus a b : (0 < snd a)%Z -> (0 < snd b)%Z -> rat (minus_rat a b) = rat a - rat b.
Proof. intros A B. apply IZR_lt in A, B. unfold rat, minus_rat. cbn [fst snd]. rewrite minus_IZR, !mult_IZR. field. lra. Qed.
Lemma rat_neg a : rat (neg_rat a) = - rat a.
Proof. unfold rat, neg_rat. cbn [fst snd]. rewrite opp_IZR. unfold Rdiv. ring. Qed.
Lemma rat_whole z : rat (z, 1%Z) = IZR z.
Proof. unfold rat. cbn [fst snd]. field. Qed.
Lemma pos_rat_ok a : pos_rat a = true -> (0 < snd a)%Z /\ 0 < rat a.
Proof. unfold pos_rat. intros H. apply andb_prop in H as [H1 H2]. apply Z.ltb_lt in H1, H2. split; auto. apply Rdiv_lt_0_compat; now apply IZR_lt. Qed.
Lemma irat_in a : inn (irat a) (rat a).
Proof. apply iq_in. Qed.
Lemma exp_of_in a : inn (exp_of a) (exp (rat a)).
Proof. apply iexp_in. Qed.
Lemma turned_in U y m : cinn U (turn y) -> cinn (turned U m) (turn (INR m * y)).
Proof. intros H. destruct m as [|m]; cbn [turned].
  - cbn [INR]. rewrite Rmult_0_l. unfold turn. rewrite cos_0, sin_0. split; apply iz_in.
  - assert (E : turn (INR (Datatypes.S m) * y) = cpow (turn y) (Pos.to_nat (Pos.of_nat (Datatypes.S m)))); [|rewrite E; now apply cipow_in].
    rewrite Nat2Pos.id by lia. generalize (Datatypes.S m) as i. induction i as [|i IH]; [cbn; rewrite Rmult_0_l; unfold turn; now rewrite cos_0, sin_0|].
    cbn [cpow]. rewrite S_INR, <- IH, <- turn_plus. f_equal. ring. Qed.
Lemma cis_of_in A U a b m : inn A a -> cinn U (turn b) -> cinn (cis_of A U m) (a * cos (INR m * b), a * sin (INR m * b)).
Proof. intros HA HU. apply (cscale_in A _ a (turn (INR m * b)) HA). now apply turned_in. Qed.
Lemma whole_in z : inn (whole z) (IZR z / IZR s).
Proof. assert (S := s0). cbn. replace (IZR s * (IZR z / IZR s)) with (IZR z) by (field; lra). lra. Qed.
Hypothesis ok : line_ok = true.
Lemma line_ok_parts : 0 < rat (l_left p) < rat c /\ rat c < rat (l_right p) /\ 0 < rat (l_step p) /\ (0 < l_count p)%Z /\
  (0 < snd (l_left p))%Z /\ (0 < snd c)%Z /\ (0 < snd (l_right p))%Z /\ (0 < snd (l_step p))%Z /\ (0 < snd (l_eps p))%Z /\
  (forall a, In a (l_atoms p) -> (0 < snd (fst a))%Z) /\ exists a b t, the_sum (ipi n) = Some (a, b) /\ (exists t', the_tail (ipi n) = Some (t', t)) /\
  if l_above p then (b + t <= l_bound p)%Z else exists al' al, the_aliases (ipi n) = Some (al', al) /\ (l_bound p <= a - t - al)%Z.
Proof. assert (H := ok). unfold line_ok in H. rewrite !andb_true_iff in H. destruct H as [[[[[[[[[[H1 H2] H3] H4] H5] H6] H7] H8] H9] _] H].
  repeat match goal with X : pos_rat _ = true |- _ => apply pos_rat_ok in X; destruct X end.
  rewrite rat_minus in * by auto. repeat match goal with X : (_ <? _)%Z = true |- _ => apply Z.ltb_lt in X end.
  repeat (split; [solve [auto | lra]|]). split.
  - intros a Ha. match goal with X : forallb _ _ = true |- _ => rewrite forallb_forall in X; specialize (X a Ha); now apply Z.ltb_lt in X end.
  - destruct (the_sum (ipi n)) as [[a b]|]; [|easy]. destruct (the_tail (ipi n)) as [[t' t]|]; [|easy]. exists a, b, t. split; [reflexivity|]. split; [now exists t'|].
    destruct (l_above p); [now apply Z.leb_le|]. destruct (the_aliases (ipi n)) as [[al' al]|]; [|easy]. exists al', al. split; [reflexivity|now apply Z.leb_le]. Qed.
Lemma period_freq m : freq period m = INR m * rat (l_step p).
Proof. destruct line_ok_parts as (_ & _ & S & _). unfold freq, period. assert (P := PI_RGT_0). field. split; lra. Qed.
Lemma atoms_at_in m l : (forall a, In a l -> (0 < snd (fst a))%Z) -> cinn (atoms_at (known_of l) m) (transform (masses l) (rat c, INR m * rat (l_step p))).
Proof. destruct line_ok_parts as (_ & _ & _ & _ & _ & DC & _ & DS & _). induction l as [|a l IH]; intros HL; [cbn; split; apply iz_in|].
  assert (A := HL a (or_introl eq_refl)). cbn [known_of map atoms_at masses]. set (q := IZR (snd a) / IZR s). set (y := rat (fst a)).
  replace (transform ((y, q) :: masses l) (rat c, INR m * rat (l_step p)))
    with (((q * exp (rat c * y) * cos (INR m * (rat (l_step p) * y)))%R, (q * exp (rat c * y) * sin (INR m * (rat (l_step p) * y)))%R) + transform (masses l) (rat c, (INR m * rat (l_step p))%R))%C.
  - apply cadd_in; [|apply IH; intros; apply HL; now right]. apply cis_of_in.
    + apply imul_in; [apply whole_in|]. unfold y. rewrite <- rat_times by auto. apply exp_of_in.
    + unfold y. rewrite <- rat_times by auto. apply iturn_in.
  - unfold transform, Cplus. cbn [E fst snd]. rewrite !Rmult_assoc. reflexivity. Qed.
Lemma rat_at m : rat (times_rat (Z.of_nat m, 1%Z) (l_step p)) = INR m * rat (l_step p).
Proof. destruct line_ok_parts as (_ & _ & _ & _ & _ & _ & _ & DS & _). rewrite rat_times by (auto; cbn; lia). now rewrite rat_whole, <- INR_IZR_INZ. Qed.
Lemma eps_exp_in : inn eps_exp (exp (- (rat c * rat (l_eps p)))).
Proof. destruct line_ok_parts as (_ & _ & _ & _ & _ & DC & _ & _ & DE & _). unfold eps_exp. rewrite <- rat_times, <- rat_neg by auto. apply exp_of_in. Qed.
(* the transform of one step is near that of the atoms at these frequencies *)
Definition near_atoms (M : R -> C) : Prop := forall m, (m <= Z.to_nat (l_count p))%nat -> let v := freq period m in let A := transform (masses (l_atoms p)) (rat c, v) in
  Rabs (fst (M v) - fst A) <= IZR (l_error p) / IZR s /\ Rabs (snd (M v) - snd A) <= IZR (l_error p) / IZR s.
Section Value.
Variable M : R -> C.
Hypothesis HM : near_atoms M.
Let G m := Re (integrand (cpow (M (freq period m)) (Pos.to_nat k)) (rat (l_eps p)) (rat c, freq period m)).
Lemma one_term_in m : (m <= Z.to_nat (l_count p))%nat -> inn (one_term (known_of (l_atoms p)) eps_exp (turn_of n (neg_rat (times_rat (l_step p) (l_eps p)))) m) (G m).
Proof. intros Hm. destruct line_ok_parts as (_ & _ & _ & _ & _ & DC & _ & DS & DE & DA & _). specialize (HM m Hm). cbv zeta in HM. unfold G. rewrite period_freq in *. set (v := INR m * rat (l_step p)) in *.
  assert (S := s0). assert (IA := atoms_at_in m (l_atoms p) DA). fold v in IA. unfold one_term. set (A := atoms_at _ m) in *. destruct HM as [E1 E2]. destruct IA as [A1 A2].
  assert (IM : cinn (inflate (l_error p) (fst A), inflate (l_error p) (snd A)) (M v)).
  { split; cbn [fst snd]; (eapply inflate_in; [eassumption|]); apply Rmult_le_reg_r with (/ IZR s); try (now apply Rinv_0_lt_compat); rewrite Rmult_assoc, Rinv_r, Rmult_1_r by lra; assumption. }
  assert (IZ : cinn (irat c, irat (times_rat (Z.of_nat m, 1%Z) (l_step p))) (rat c, v)) by (split; cbn [fst snd]; [apply irat_in|unfold v; rewrite <- rat_at; apply irat_in]).
  assert (IT : cinn (turn_of n (neg_rat (times_rat (l_step p) (l_eps p)))) (turn (- (rat (l_step p) * rat (l_eps p))))) by (rewrite <- rat_times, <- rat_neg by auto; apply iturn_in).
  assert (IC := cis_of_in _ _ _ _ m eps_exp_in IT).
  unfold integrand, Re, Cdiv. apply cmul_in.
  - apply cmul_in; [now apply cipow_in|]. replace (cis (- (RtoC (rat (l_eps p)) * (rat c, v)))%C)
      with (exp (- (rat c * rat (l_eps p))) * cos (INR m * - (rat (l_step p) * rat (l_eps p))), exp (- (rat c * rat (l_eps p))) * sin (INR m * - (rat (l_step p) * rat (l_eps p)))); [exact IC|].
    unfold cis, Copp, Cmult, RtoC. cbn [fst snd]. set (e := rat (l_eps p)). set (g := rat c).
    replace (- (e * g - 0 * v))%R with (- (g * e))%R by ring. replace (- (e * v + 0 * g))%R with (INR m * - (rat (l_step p) * e))%R by (unfold v; ring). reflexivity.
  - apply cinv_in, cmul_in; [exact IZ|]. apply cadd_in; [exact IZ|]. split; cbn; apply iz_in. Qed.
Lemma terms_sum_in (f : nat -> ivl) (g : nat -> R) m : (forall i, (i < m)%nat -> inn (f i) (g i)) -> inn (terms_sum f m) (add g m).
Proof. induction m as [|m IH]; intros H; cbn [terms_sum add]; [apply iz_in|]. apply iadd_in; [apply IH; intros; apply H; lia|apply H; lia]. Qed.
Lemma the_sum_in : inn (the_sum (ipi n)) (/ period * (G O + 2 * add (fun m => G (Datatypes.S m)) (Z.to_nat (l_count p)))).
Proof. destruct line_ok_parts as (_ & _ & PS & _). assert (P := PI_RGT_0). unfold the_sum. apply imul_in.
  - replace (/ period) with (rat (l_step p) * / (2 * PI)) by (unfold period; field; split; lra). apply imul_in; [apply irat_in|]. apply iinv_in, imul_in; [apply iz_in|apply ipi_in].
  - apply iadd_in; [apply one_term_in; lia|]. apply imul_in; [apply iz_in|]. apply terms_sum_in. intros. apply one_term_in. lia. Qed.
End Value.
Let B := (IZR (l_beyond p) / IZR s) ^ Pos.to_nat k.
Lemma the_tail_in : inn (the_tail (ipi n)) (exp (- (rat c * rat (l_eps p))) * B / (PI * freq period (Z.to_nat (l_count p)))).
Proof. unfold the_tail, Rdiv at 1. apply imul_in; [apply imul_in; [apply eps_exp_in|apply ipow_in, whole_in]|]. apply iinv_in, imul_in; [apply ipi_in|].
  rewrite period_freq. destruct line_ok_parts as (_ & _ & _ & C0 & _). rewrite <- rat_at, Z2Nat.id by lia. apply irat_in. Qed.
Lemma the_ratio_in d : (0 < snd d)%Z -> 0 < rat d -> inn (the_ratio (ipi n) d) (exp (- (rat d * period)) / (1 - exp (- (rat d * period)))).
Proof. intros D0 D1. destruct line_ok_parts as (_ & _ & PS & _ & _ & _ & _ & DS & _). unfold the_ratio.
  assert (IX : inn (imul (imul (iz 2) (ipi n)) (iinv (irat (l_step p)))) period) by (apply imul_in; [apply imul_in; [apply iz_in|apply ipi_in]|apply iinv_in, irat_in]).
  destruct (imul _ _) as [[lo hi]|]; [|exact Logic.I]. destruct (Z.ltb_spec 0 lo) as [L|]; [|exact Logic.I]. assert (S := s0). cbn in IX.
  set (x := exp (- (rat d * period))). assert (I0 : inn (between (iz 0) (exp_of (neg_rat (times_rat d (lo, 2 ^ W)%Z)))) x).
  { eapply between_in; [apply iz_in|apply exp_of_in|]. split; [left; apply exp_pos|]. apply exp_le. rewrite rat_neg, rat_times by (auto; cbn; apply Z.pow_pos_nonneg; lia).
    apply Ropp_le_contravar, Rmult_le_compat_l; [lra|]. unfold rat at 1. cbn [fst snd]. fold s. apply Rmult_le_reg_l with (IZR s); auto. replace (IZR s * (IZR lo / IZR s)) with (IZR lo) by (field; lra). lra. }
  unfold Rdiv. apply imul_in; [exact I0|]. apply iinv_in, isub_in; [apply iz_in|exact I0]. Qed.
Lemma C_le1 r : 0 < r -> 0 < Chernoff.C r <= 1.
Proof. intros H. split; [apply Chernoff.C_pos|]. rewrite Chernoff.C_exp. apply Rle_trans with (exp 0); [apply exp_le|rewrite exp_0; lra]. assert (L : ln r <= ln (1 + r)) by (apply ln_le; lra).
  assert (L0 : 0 <= ln (1 + r)) by (rewrite <- ln_1 at 1; apply ln_le; lra). apply (Rmult_le_compat_l r) in L; lra. Qed.
Lemma one_alias_ge r d m Mr : (0 < snd r)%Z -> 0 < rat r -> (0 < snd d)%Z -> 0 < rat d -> 0 <= Mr <= IZR m / IZR s -> exists v, inn (one_alias (ipi n) r d m) v /\
  Chernoff.C (rat r) * (exp (- (rat r * rat (l_eps p))) * Mr ^ Pos.to_nat k) * (exp (- (rat d * period)) / (1 - exp (- (rat d * period)))) <= v.
Proof. intros R0 R1 D0 D1 HMr. destruct line_ok_parts as (_ & _ & PS & _ & _ & _ & _ & _ & DE & _). assert (PP := PI_RGT_0). assert (X0 : 0 < period) by (apply Rdiv_lt_0_compat; lra). eexists. split.
  - unfold one_alias. apply imul_in; [|now apply the_ratio_in]. apply imul_in; [apply exp_of_in|apply ipow_in, whole_in].
  - rewrite rat_neg, rat_times by auto. assert (X1 : exp (- (rat d * period)) < 1) by (rewrite <- exp_0; apply exp_increasing; nra). assert (X2 := exp_pos (- (rat d * period))).
    assert (Q : 0 <= exp (- (rat d * period)) / (1 - exp (- (rat d * period)))) by (apply Rlt_le, Rdiv_lt_0_compat; lra). apply Rmult_le_compat_r; auto.
    destruct (C_le1 _ R1) as [C0 C1]. assert (E0 := exp_pos (- (rat r * rat (l_eps p)))). assert (K0 := pow_le Mr (Pos.to_nat k) (proj1 HMr)). assert (K1 := pow_incr Mr (IZR m / IZR s) (Pos.to_nat k) HMr).
    assert (K2 : exp (- (rat r * rat (l_eps p))) * Mr ^ Pos.to_nat k <= exp (- (rat r * rat (l_eps p))) * (IZR m / IZR s) ^ Pos.to_nat k) by (apply Rmult_le_compat_l; lra).
    assert (K3 : 0 <= exp (- (rat r * rat (l_eps p))) * Mr ^ Pos.to_nat k) by (apply Rmult_le_pos; lra). nra. Qed.

(* what acceptance means, of any number that such a sum encloses *)
Theorem line_ok_bounds (M : R -> C) (Mr Mr' D : R) : near_atoms M -> 0 <= Mr <= IZR (l_moment_right p) / IZR s -> 0 <= Mr' <= IZR (l_moment_left p) / IZR s ->
  (let eps := rat (l_eps p) in let r := rat (l_right p) in let r' := rat (l_left p) in let c := rat c in let X := period in let m0 := Z.to_nat (l_count p) in let k := Pos.to_nat k in
   let G m := Re (integrand (cpow (M (freq X m)) k) eps (c, freq X m)) in let T := / X * (G O + 2 * add (fun m => G (Datatypes.S m)) m0) in
   let tail := exp (- (c * eps)) * B / (PI * freq X m0) in let ratio d := exp (- (d * X)) / (1 - exp (- (d * X))) in
   T - tail - (Chernoff.C r * (exp (- (r * eps)) * Mr ^ k) * ratio (r - c) + Chernoff.C r' * (exp (- (r' * eps)) * Mr' ^ k) * ratio (c - r')) <= D <= T + tail) ->
  if l_above p then D <= IZR (l_bound p) / IZR s else IZR (l_bound p) / IZR s <= D.
Proof. cbv zeta. intros HM H1 H2 HD. assert (IS := the_sum_in M HM). assert (IT := the_tail_in). assert (S := s0).
  destruct line_ok_parts as (L1 & L2 & _ & _ & DL & DC & DR & DS & _ & _ & a & b & t & E1 & [t' E2] & H). rewrite E1 in IS. rewrite E2 in IT. cbn in IS, IT.
  set (T := / period * _) in *. set (tail := exp (- (rat c * rat (l_eps p))) * B / _) in *. destruct (l_above p).
  - apply IZR_le in H. rewrite plus_IZR in H. apply Rmult_le_reg_l with (IZR s); auto. replace (IZR s * (IZR (l_bound p) / IZR s)) with (IZR (l_bound p)) by (field; lra). nra.
  - destruct H as (al' & al & E3 & H). apply IZR_le in H. rewrite !minus_IZR in H.
    assert (P1 : 0 < rat (minus_rat (l_right p) c)) by (rewrite rat_minus by auto; lra). assert (P2 : 0 < rat (minus_rat c (l_left p))) by (rewrite rat_minus by auto; lra).
    destruct (one_alias_ge (l_right p) (minus_rat (l_right p) c) _ Mr DR ltac:(lra) ltac:(cbn; nia) P1 H1) as [v1 [V1 U1]].
    destruct (one_alias_ge (l_left p) (minus_rat c (l_left p)) _ Mr' DL ltac:(lra) ltac:(cbn; nia) P2 H2) as [v2 [V2 U2]]. rewrite !rat_minus in U1, U2 by auto.
    assert (IA := iadd_in _ _ _ _ V1 V2). fold (the_aliases (ipi n)) in IA. rewrite E3 in IA. cbn in IA.
    apply Rmult_le_reg_l with (IZR s); auto. replace (IZR s * (IZR (l_bound p) / IZR s)) with (IZR (l_bound p)) by (field; lra).
    set (A1 := Chernoff.C (rat (l_right p)) * _ * _) in *. set (A2 := Chernoff.C (rat (l_left p)) * _ * _) in *. assert (Q : A1 + A2 <= v1 + v2) by lra. apply (Rmult_le_compat_l (IZR s)) in Q; [|lra].
    destruct HD as [HD _]. apply (Rmult_le_compat_l (IZR s)) in HD; [|lra]. lra. Qed.

(* k independent outputs of any kind *)
Theorem line_ok_independent {T} (A : integral T) (P L : T -> R) (M : R -> C) (Mc Mr Mr' D : R) : (forall x, 0 <= P x) ->
  is_int A (fun x => P x * exp (rat c * L x)) Mc -> is_int A (fun x => P x * exp (rat (l_right p) * L x)) Mr -> is_int A (fun x => P x * exp (rat (l_left p) * L x)) Mr' ->
  (forall m, transform_int A P L (rat c, freq period m) (M (freq period m))) ->
  is_int (many A (Pos.to_nat k)) (fun x => dens P (Pos.to_nat k) x * w (rat (l_eps p)) (loss_sum L (Pos.to_nat k) x)) D ->
  near_atoms M -> Mr <= IZR (l_moment_right p) / IZR s -> Mr' <= IZR (l_moment_left p) / IZR s ->
  (forall m, (Z.to_nat (l_count p) <= m)%nat -> Cmod (M (freq period (Datatypes.S m))) <= IZR (l_beyond p) / IZR s) ->
  if l_above p then D <= IZR (l_bound p) / IZR s else IZR (l_bound p) / IZR s <= D.
Proof. intros P0 IC IR IR' IM ID HM H1 H2 HB. destruct line_ok_parts as (L1 & L2 & L3 & L4 & _). assert (PP := PI_RGT_0).
  assert (G0 : forall r v, is_int A (fun x => P x * exp (r * L x)) v -> 0 <= v) by (intros r v V; apply (int_ge0 A _ _ (fun x => Rmult_le_pos _ _ (P0 x) (Rlt_le _ _ (exp_pos _))) V)).
  apply (line_ok_bounds M Mr Mr'); eauto. apply (line_independent A P L P0 (Pos.to_nat k) _ _ _ _ _ _ Mc Mr Mr' D B M); auto.
  - apply Rdiv_lt_0_compat; lra.
  - lia.
  - intros m Hm. now apply cpow_mod, HB. Qed.
(* k sampled Gaussian steps; m is the distance in units of the noise *)
Theorem line_ok_sampled_gaussian (o : order) (q m : R) (M : R -> C) (Mr Mr' D : R) : 0 < q <= 1 -> 0 < m -> let P := pair_P o q m in let Q := pair_Q o q m in let L := loss o q m in
  (forall v, transform_int line P L (rat c, v) (M v)) -> is_line (fun x => P x * exp (rat (l_right p) * L x)) Mr -> is_line (fun x => P x * exp (rat (l_left p) * L x)) Mr' ->
  is_int (many line (Pos.to_nat k)) (fun x => pos (dens P (Pos.to_nat k) x - exp (rat (l_eps p)) * dens Q (Pos.to_nat k) x)) D ->
  near_atoms M -> Mr <= IZR (l_moment_right p) / IZR s -> Mr' <= IZR (l_moment_left p) / IZR s ->
  (forall m, (Z.to_nat (l_count p) <= m)%nat -> Cmod (M (freq period (Datatypes.S m))) <= IZR (l_beyond p) / IZR s) ->
  if l_above p then D <= IZR (l_bound p) / IZR s else IZR (l_bound p) / IZR s <= D.
Proof. intros Hq Hm P Q L IM IR IR' ID. destruct line_ok_parts as (L1 & L2 & _). destruct (gaussian_moment o q m Hq Hm (rat c) ltac:(lra)) as [Mc IC].
  apply (line_ok_independent line P L M Mc Mr Mr' D); auto.
  - intros x. left. now apply pair_pos.
  - eapply int_ext; [|exact ID]. intros x. symmetry. now apply loss_stick. Qed.

(* ---------- finitely many atoms: nothing is assumed ---------- *)
Open Scope Z_scope.
Fixpoint moment (r : Z * Z) (l : list ((Z * Z) * Z)) : ivl := match l with [] => iz 0 | a :: l => iadd (imul (whole (snd a)) (exp_of (times_rat r (fst a)))) (moment r l) end.
Definition at_most (X : ivl) (b : Z) : bool := match X with Some (_, h) => h <=? b | None => false end.
Definition line_atoms_ok : bool := forallb (fun a => 0 <=? snd a) (l_atoms p) && at_most (moment (l_right p) (l_atoms p)) (l_moment_right p)
  && at_most (moment (l_left p) (l_atoms p)) (l_moment_left p) && at_most (moment c (l_atoms p)) (l_beyond p) && line_ok.
Open Scope R_scope.
Lemma moment_in r l : (0 < snd r)%Z -> (forall a, In a l -> (0 < snd (fst a))%Z) -> inn (moment r l) (Chernoff.M (rat r) (masses l)).
Proof. intros R0. unfold Chernoff.M. induction l as [|a l IH]; intros H; cbn [moment masses map E fst snd]; [apply iz_in|]. apply iadd_in; [|apply IH; intros; apply H; now right].
  apply imul_in; [apply whole_in|]. rewrite <- rat_times by (auto; apply H; now left). apply exp_of_in. Qed.
Lemma at_most_ok X x b : inn X x -> at_most X b = true -> x <= IZR b / IZR s.
Proof. destruct X as [[lo h]|]; cbn; [|easy]. intros [_ H] K. apply Z.leb_le, IZR_le in K. assert (S := s0). apply Rmult_le_reg_l with (IZR s); auto. replace (IZR s * (IZR b / IZR s)) with (IZR b) by (field; lra). lra. Qed.
Lemma finite_kfold j l : snd (kfold j (l, 0)) = 0.
Proof. induction j as [|j IH]; cbn [kfold]; [reflexivity|]. unfold conv. cbn [fst snd]. rewrite IH. ring. Qed.
Definition atoms_law : law := (masses (l_atoms p), 0).
Theorem line_atoms_ok_bounds : line_atoms_ok = true -> let D := delta (rat (l_eps p)) (kfold (Pos.to_nat k) atoms_law) in
  if l_above p then D <= IZR (l_bound p) / IZR s else IZR (l_bound p) / IZR s <= D.
Proof. intros H D. unfold line_atoms_ok in H. rewrite !andb_true_iff in H. destruct H as [[[[H0 H1] H2] H3] _]. destruct line_ok_parts as (L1 & L2 & L3 & L4 & DL & DC & DR & DS & DE & DA & _). assert (PP := PI_RGT_0). assert (S := s0).
  assert (X0 : 0 < period) by (apply Rdiv_lt_0_compat; lra).
  assert (NN : nn (masses (l_atoms p))).
  { unfold nn, masses. rewrite Forall_map, Forall_forall. intros a Ha. cbn. rewrite forallb_forall in H0. specialize (H0 a Ha). apply Z.leb_le, IZR_le in H0. apply Rmult_le_pos; [lra|left; now apply Rinv_0_lt_compat]. }
  assert (M0 : forall r, 0 <= Chernoff.M r (masses (l_atoms p))) by (intros r; unfold Chernoff.M; clear -NN; induction NN as [|[y q] l Q NN IH]; cbn [E fst snd] in *; [lra|]; assert (Z := exp_pos (r * y)); nra).
  assert (E0 : (0 <= l_error p)%Z) by (assert (K := ok); unfold line_ok in K; rewrite !andb_true_iff in K; destruct K as [[_ K] _]; now apply Z.leb_le).
  apply (line_ok_bounds (fun v => transform (masses (l_atoms p)) (rat c, v)) (Chernoff.M (rat (l_right p)) (masses (l_atoms p))) (Chernoff.M (rat (l_left p)) (masses (l_atoms p)))).
  - intros m _ v A. unfold A. rewrite !Rminus_eq_0, Rabs_R0. assert (0 <= IZR (l_error p) / IZR s) by (apply Rmult_le_pos; [now apply IZR_le|left; now apply Rinv_0_lt_compat]). auto.
  - split; [apply M0|]. now apply (at_most_ok _ _ _ (moment_in (l_right p) _ DR DA)).
  - split; [apply M0|]. now apply (at_most_ok _ _ _ (moment_in (l_left p) _ DL DA)).
  - cbv beta zeta. assert (N : nonneg atoms_law) by (split; [exact NN|cbn; lra]).
    assert (HB : forall m, (Z.to_nat (l_count p) <= m)%nat -> Cmod (cpow (transform (fst atoms_law) (rat c, freq period (Datatypes.S m))) (Pos.to_nat k)) <= B).
    { intros m _. apply cpow_mod. eapply Rle_trans; [apply transform_mod, NN|]. exact (at_most_ok _ _ _ (moment_in c _ DC DA) H3). }
    assert (K := line_encloses atoms_law (Pos.to_nat k) (rat (l_eps p)) (rat c) (rat (l_right p)) (rat (l_left p)) period (Z.to_nat (l_count p)) B N ltac:(lra) ltac:(lra) ltac:(lra) X0 ltac:(lia) HB).
    cbv beta zeta in K. unfold right_aliases, left_aliases, chernoff, trapezoidal in K. cbv beta zeta in K. rewrite (finite_kfold (Pos.to_nat k) (masses (l_atoms p)) : snd (kfold (Pos.to_nat k) atoms_law) = 0), !Chernoff.M_kfold, Rplus_0_l in K. cbn [atoms_law fst] in K.
    assert (F0 : freq period 0 = 0) by (unfold freq; cbn [INR]; field; lra). rewrite F0. fold D in K.
    set (T := / period * _) in *. set (tl := _ / (PI * _)) in *.
    rewrite !Ropp_mult_distr_l. rewrite <- !Ropp_mult_distr_l in *.
    set (x1 := exp (- (rat (l_right p) * rat (l_eps p)))) in *. set (x2 := exp (- (rat (l_left p) * rat (l_eps p)))) in *.
    match type of K with ?a - ?b - ?u - ?v <= _ <= _ => match goal with |- ?a' - ?b' - (?u' + ?v') <= _ <= _ => assert (U : u' = u) by ring; assert (V : v' = v) by ring; rewrite U, V; lra end end. Qed.
End Problem.
End Unit.

Require Import ExtrOcamlBasic ExtrOcamlZBigInt.
Extraction Language OCaml.
Extraction "line_checker.ml" line_atoms_ok.
