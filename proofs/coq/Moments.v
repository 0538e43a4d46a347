(* 11a. Moments bound adaptive steps with outputs of any kind: Chernoff (T03) and Renyi's composition (T65).

   The l-th moment of a step's privacy loss is the integral of P (P/Q)^l, P and Q the densities of its output.  Steps that
   are chosen after seeing all earlier outputs multiply: if the moments are at most m_1, ..., m_k, then for every test
     P test - e^eps Q test  <=  l^l / (1+l)^(1+l) e^(-l eps) m_1 ... m_k                               (adaptive_moments).
   Normal noise of scale sigma on a query of norm at most 1 in R^d has m = e^(l (l+1) / (2 sigma^2))   (gaussian_moment). *)
Require Import Reals List Lra.
From VerifiedDP Require Import Law HockeyStick Chernoff Integral Normal Space.
Import ListNotations.
Open Scope R_scope.

Section Moments.
Variable l : R.
Hypothesis Hl : 0 < l.
Section Over.
Context {T : Type} (A : integral T).
Definition power (P Q : T -> R) (x : T) : R := if Rlt_dec 0 (P x) then P x * exp (l * ln (P x / Q x)) else 0.
Definition moment_bounded (P Q : T -> R) (m : R) :=
  (forall x, 0 <= P x) /\ (forall x, 0 <= Q x) /\ (forall x, 0 < P x -> 0 < Q x) /\ 0 <= m /\ upto A (power P Q) m.
(* each step in turn by its bound of the list, whatever the outputs before it *)
Fixpoint all_moments (P Q : list T -> T -> R) (ms : list R) (h : list T) : Prop :=
  match ms with [] => True | m :: ms => moment_bounded (P h) (Q h) m /\ forall x, all_moments P Q ms (x :: h) end.
Fixpoint product (ms : list R) : R := match ms with [] => 1 | m :: ms => m * product ms end.

Lemma product_ge0 ms : Forall (Rle 0) ms -> 0 <= product ms.
Proof. intros H; induction H; simpl; [lra|now apply Rmult_le_pos]. Qed.
Lemma one_output c p q F G e : 0 <= c -> 0 <= p -> 0 <= q -> (0 < p -> 0 < q) -> 0 <= G ->
  (forall e, F - exp e * G <= c * exp (- l * e)) ->
  p * F - exp e * (q * G) <= c * exp (- l * e) * (if Rlt_dec 0 p then p * exp (l * ln (p / q)) else 0).
Proof. intros HC Hp Hq HQ HG H. destruct (Rlt_dec 0 p) as [P|P].
  - specialize (HQ P). specialize (H (e - ln (p / q))). assert (R : 0 < p / q) by now apply Rdiv_lt_0_compat.
    apply (Rmult_le_compat_l p) in H; [|lra].
    replace (- l * (e - ln (p / q))) with (- l * e + l * ln (p / q)) in H by ring. rewrite (exp_plus (- l * e)) in H.
    replace (e - ln (p / q)) with (e + - ln (p / q)) in H by ring. rewrite exp_plus, exp_Ropp, exp_ln in H by auto.
    replace (p * (F - exp e * / (p / q) * G)) with (p * F - exp e * (q * G)) in H by (field; lra). lra.
  - assert (p = 0) by lra. subst. assert (Y : 0 <= exp e * (q * G)) by (apply Rmult_le_pos; [left; apply exp_pos|now apply Rmult_le_pos]).
    lra. Qed.
Theorem adaptive_moments (P Q : list T -> T -> R) test : (forall h, 0 <= test h <= 1) ->
  forall ms h u v, Forall (Rle 0) ms -> all_moments P Q ms h ->
  expect A P test (length ms) h u -> expect A Q test (length ms) h v ->
  0 <= v /\ forall e, u - exp e * v <= C l * product ms * exp (- l * e).
Proof. intros Ht. assert (CP := C_pos l). induction ms as [|m ms IH]; intros h u v M0 HM HU HV; simpl in *.
  - subst. specialize (Ht h). split; [lra|]. intros e. assert (S := sharp l (- e) Hl).
    replace (l * - e) with (- l * e) in S by ring. rewrite Ropp_involutive in S.
    assert (W : test h - exp e * test h <= Rmax 0 (1 - exp e)).
    { assert (A1 := Rmax_l 0 (1 - exp e)). assert (A2 := Rmax_r 0 (1 - exp e)). assert (X := exp_pos e). nra. }
    lra.
  - inversion M0 as [|? ? Mm Mms]; subst. assert (PM := product_ge0 ms Mms). destruct HM as [[P0 [Q0 [PQ MB]]] HM].
    destruct HU as [F [HF IF]]. destruct HV as [G [HG IG]].
    assert (K : forall x, 0 <= G x /\ forall e, F x - exp e * G x <= C l * product ms * exp (- l * e)) by (intros x; eapply IH; eauto).
    split; [apply (int_ge0 A _ _ (fun x => Rmult_le_pos _ _ (Q0 x) (proj1 (K x))) IG)|]. intros e.
    assert (I : is_int A (fun x => P h x * F x - exp e * (Q h x * G x)) (u - exp e * v)) by now apply int_minus, int_scal.
    assert (C0 : 0 <= C l * product ms) by (apply Rmult_le_pos; lra). assert (EP := exp_pos (- l * e)).
    replace (C l * (m * product ms) * exp (- l * e)) with (C l * product ms * exp (- l * e) * m) by ring.
    apply (upto_int_le A _ _ _ I).
    apply (upto_le A _ (fun x => C l * product ms * exp (- l * e) * power (P h) (Q h) x) (C l * product ms * exp (- l * e) * m)); [|lra|].
    + intros x. destruct (K x) as [K1 K2]. apply one_output; auto.
    + apply upto_scal; [apply Rmult_le_pos; lra|apply MB]. Qed.
End Over.

(* ---------- normal noise ---------- *)
Variable sigma : R.
Hypothesis Hs : 0 < sigma.
Lemma power_normal c v : is_line (power (normal sigma (c + v)) (normal sigma c)) (exp (l * (l + 1) * (v * v) / (2 * (sigma * sigma)))).
Proof. set (k := exp _). rewrite <- (Rmult_1_r k).
  apply (line_ext (fun x => k * normal sigma (c + (1 + l) * v) x)); [|apply line_scal; now apply normal_line].
  intros x. unfold power. destruct (Rlt_dec 0 (normal sigma (c + v) x)) as [_|N]; [|exfalso; now apply N, normal_pos].
  assert (H := half_pos). assert (R : forall w, normal sigma (c + w) x = exp (w / sigma * ((x - c) / sigma) - w / sigma * (w / sigma) / 2) * normal sigma c x).
  { intros w. unfold normal. replace ((x - (c + w)) / sigma) with ((x - c) / sigma - w / sigma) by (field; lra). rewrite std_ratio. ring. }
  assert (L : ln (normal sigma (c + v) x / normal sigma c x) = v / sigma * ((x - c) / sigma) - v / sigma * (v / sigma) / 2).
  { rewrite R. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_r, Rmult_1_r, ln_exp by (assert (P := normal_pos sigma c x Hs); lra). reflexivity. }
  rewrite L, (R v), (R ((1 + l) * v)). unfold k.
  transitivity (exp (l * (l + 1) * (v * v) / (2 * (sigma * sigma)) + ((1 + l) * v / sigma * ((x - c) / sigma) - (1 + l) * v / sigma * ((1 + l) * v / sigma) / 2))
    * normal sigma c x); [rewrite exp_plus; ring|].
  match goal with |- _ = ?a * ?n * ?b => replace (a * n * b) with (a * b * n) by ring end.
  rewrite <- exp_plus. do 2 f_equal. field; lra. Qed.
Theorem gaussian_moment d : forall c v : vec d, is_int (space d) (power (normals sigma (plus_vec c v)) (normals sigma c))
  (exp (l * (l + 1) * squares v / (2 * (sigma * sigma)))).
Proof. induction d as [|d IH]; intros c v.
  - simpl. unfold power. destruct (Rlt_dec 0 1) as [_|]; [|lra]. replace (1 / 1) with 1 by field.
    replace (l * (l + 1) * 0 / (2 * (sigma * sigma))) with 0 by (unfold Rdiv; ring). rewrite ln_1, Rmult_0_r, exp_0. ring.
  - destruct c as [c1 c], v as [v1 v]. set (m := exp (l * (l + 1) * squares v / (2 * (sigma * sigma)))).
    exists (fun x => power (normal sigma (c1 + v1)) (normal sigma c1) x * m). split.
    + intros x. apply (int_ext (space d) (fun y => power (normal sigma (c1 + v1)) (normal sigma c1) x * power (normals sigma (plus_vec c v)) (normals sigma c) y));
        [|apply (int_scal (space d)), IH].
      intros y. unfold power. cbn [normals plus_vec fst snd].
      assert (A := normal_pos sigma (c1 + v1) x Hs). assert (A' := normal_pos sigma c1 x Hs).
      assert (B := normals_pos sigma Hs d (plus_vec c v) y). assert (B' := normals_pos sigma Hs d c y).
      set (p := normal sigma (c1 + v1) x) in *. set (q := normal sigma c1 x) in *. set (P := normals _ _ y) in *. set (Q := normals sigma c y) in *.
      assert (PP : 0 < p * P) by now apply Rmult_lt_0_compat.
      destruct (Rlt_dec 0 p); [|lra]. destruct (Rlt_dec 0 P); [|lra]. destruct (Rlt_dec 0 (p * P)); [|lra].
      replace (p * P / (q * Q)) with (p / q * (P / Q)) by (field; lra).
      rewrite ln_mult by (now apply Rdiv_lt_0_compat). rewrite Rmult_plus_distr_l, exp_plus. ring.
    + cbn [squares fst snd].
      replace (exp (l * (l + 1) * (v1 * v1 + squares v) / (2 * (sigma * sigma)))) with (m * exp (l * (l + 1) * (v1 * v1) / (2 * (sigma * sigma))))
        by (unfold m; rewrite <- exp_plus; f_equal; field; lra).
      apply (line_ext (fun x => m * power (normal sigma (c1 + v1)) (normal sigma c1) x)); [intros; ring|]. apply line_scal, power_normal. Qed.

(* k adaptive Gaussian steps, a record more or less: the zCDP bound. *)
Lemma one_step d (c v : vec d) : norm v <= 1 ->
  moment_bounded (space d) (normals sigma (plus_vec c v)) (normals sigma c) (exp (l * (l + 1) / (2 * (sigma * sigma)))).
Proof. intros H. repeat split; try (intros; left; now apply normals_pos); [intros; now apply normals_pos|left; apply exp_pos|].
  assert (Q := squares_ge0 v). assert (N : squares v <= 1).
  { unfold norm in H. rewrite <- (sqrt_sqrt (squares v)) by auto. assert (P := sqrt_pos (squares v)). nra. }
  apply (upto_le (space d) _ _ _ _ (fun x => Rle_refl _)) with (2 := upto_int _ _ _ (gaussian_moment d c v)).
  apply exp_le. unfold Rdiv. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; nra|]. nra. Qed.
Theorem gaussian_steps_moments {X d} (query : list (vec d) -> X -> vec d) (x : X) (D : list X) (k : nat) :
  (forall h z, norm (query h z) <= 1) ->
  let M D h := normals sigma (total (query h) D) in
  forall test u v e, (forall outputs, 0 <= test outputs <= 1) ->
  expect (space d) (M (x :: D)) test k [] u -> expect (space d) (M D) test k [] v ->
  let bound := C l * exp (INR k * (l * (l + 1) / (2 * (sigma * sigma)))) * exp (- l * e) in
  u <= exp e * v + bound /\ v <= exp e * u + bound.
Proof. intros Hq M test u v e Ht HU HV bound. set (m := exp (l * (l + 1) / (2 * (sigma * sigma)))).
  assert (E : product (repeat m k) = exp (INR k * (l * (l + 1) / (2 * (sigma * sigma))))).
  { clear. induction k as [|k IH]; [simpl; now rewrite Rmult_0_l, exp_0|]. cbn [repeat product]. rewrite IH. unfold m. rewrite <- exp_plus, S_INR. f_equal; ring. }
  assert (M0 : Forall (Rle 0) (repeat m k)) by (apply Forall_forall; intros z Hz; apply repeat_spec in Hz; subst; left; apply exp_pos).
  assert (G : forall P Q, (forall h, moment_bounded (space d) (P h) (Q h) m) -> forall u v, expect (space d) P test k [] u -> expect (space d) Q test k [] v ->
    u - exp e * v <= bound).
  { intros P Q HB u' v' HP HQ. assert (AM : forall n h, all_moments (space d) P Q (repeat m n) h).
    { induction n as [|n IH]; intros h; simpl; auto. }
    assert (L : k = length (repeat m k)) by (symmetry; apply repeat_length). rewrite L in HP, HQ.
    destruct (adaptive_moments (space d) P Q test Ht _ _ _ _ M0 (AM k []) HP HQ) as [_ K]. specialize (K e). unfold bound. rewrite <- E. exact K. }
  assert (S1 : forall h, moment_bounded (space d) (M (x :: D) h) (M D h) m).
  { intros h. unfold M. cbn [total]. rewrite plus_comm. now apply one_step. }
  assert (S2 : forall h, moment_bounded (space d) (M D h) (M (x :: D) h) m).
  { intros h. unfold M. assert (N : norm (opp_vec (query h x)) <= 1) by (unfold norm; rewrite squares_opp; apply Hq).
    assert (K := one_step d (total (query h) (x :: D)) _ N). cbn [total] in *. now rewrite plus_opp in K. }
  assert (K1 := G _ _ S1 u v HU HV). assert (K2 := G _ _ S2 v u HV HU). lra. Qed.
End Moments.
