(* 11. Outputs in R^d: normal noise in every coordinate, queries whose norm is at most 1 (T21 and T23, in R^d).

   A vector of R^d is a tuple of d reals, the integral over R^d (`space`) the iterated one, `normals` the product of the
   coordinates' densities.  The noise does not see the axes, but nothing is turned here; instead
     ∫ std z upper ((t - u z) / w) dz = upper (t / sqrt (u^2 + w^2))                                       (upper_mixed)
   (both sides have the same derivative in t), so that one coordinate with shift u and others with divergence `tip w`
   have the divergence of the shift sqrt (u^2 + w^2) (tip_mixed).  Coordinate by coordinate: the divergence of two normal
   laws on R^d is that of two on the line as far apart (normals_tip), and one curve bounds every query that changes by
   at most 1 (gaussian_space). *)
Require Import Reals List Lra Lia.
From Coquelicot Require Import Coquelicot.
From VerifiedDP Require Import Law HockeyStick Integral Normal.
Import ListNotations.
Open Scope R_scope.

(* ---------- std and upper are smooth ---------- *)
Definition top := / (2 * half).
Lemma top_pos : 0 < top.
Proof. assert (H := half_pos). apply Rinv_0_lt_compat; lra. Qed.
Lemma xg_bounded x : Rabs (x * g x) <= 1.
Proof. assert (P := exp_pos (x ^ 2 / 2)). assert (N : g x * exp (x ^ 2 / 2) = 1).
  { unfold g. rewrite <- exp_plus. replace (- x ^ 2 / 2 + x ^ 2 / 2) with 0 by field. apply exp_0. }
  assert (L : 1 + x ^ 2 / 2 <= exp (x ^ 2 / 2)).
  { destruct (Req_dec (x ^ 2 / 2) 0) as [Z|Z]; [rewrite Z, exp_0; lra|left; now apply exp_ineq1]. }
  assert (G := g_pos x). assert (A : Rabs x <= exp (x ^ 2 / 2)).
  { eapply Rle_trans; [|exact L]. apply Rabs_le. split; nra. }
  rewrite Rabs_mult, (Rabs_pos_eq (g x)) by lra. rewrite <- N, Rmult_comm. apply Rmult_le_compat_l; lra. Qed.
Lemma std_derive x : is_derive std x (top * (- x * g x)).
Proof. apply (is_derive_scal g x top), g_derive. Qed.
Lemma std_near x y : Rabs (std y - std x) <= top * Rabs (y - x).
Proof. destruct (MVT_gen std x y (fun x => top * (- x * g x))) as [z [_ E]].
  - intros z _. apply std_derive.
  - intros z _. apply continuity_pt_filterlim, (ex_derive_continuous std). eexists; apply std_derive.
  - rewrite E, !Rabs_mult, Rabs_pos_eq by (left; apply top_pos). apply Rmult_le_compat_r; [apply Rabs_pos|].
    rewrite <- (Rmult_1_r top) at 2. apply Rmult_le_compat_l; [left; apply top_pos|].
    rewrite <- Rabs_mult, Ropp_mult_distr_l_reverse, Rabs_Ropp. apply xg_bounded. Qed.
Lemma upper_derive x : is_derive upper x (- std x).
Proof. assert (A : is_derive area x (g x)).
  { apply (is_derive_RInt g area 0 x); [|apply g_cont]. apply filter_forall. intros y. apply (RInt_correct g), g_ex. }
  unfold upper. replace (- std x) with (top * (0 - g x)) by (unfold std, top; ring).
  apply (is_derive_scal (fun t => half - area t) x top). apply (is_derive_minus (fun _ => half) area x 0 (g x)); [|exact A].
  apply (is_derive_const half). Qed.
Lemma upper_range t : 0 <= upper t <= 1.
Proof. assert (H := half_pos). assert (A := area_half t). assert (B := area_half (- t)). rewrite area_odd in B.
  unfold upper. split; [apply Rmult_le_pos; [left; apply top_pos|lra]|].
  apply Rmult_le_reg_l with (2 * half); [lra|]. rewrite <- Rmult_assoc, Rinv_r by lra. lra. Qed.
Lemma upper_mirror t : upper (- t) = 1 - upper t.
Proof. assert (H := half_pos). unfold upper. rewrite area_odd. field; lra. Qed.
Lemma upper_near x h : Rabs (upper (x + h) - upper x + h * std x) <= top * h ^ 2.
Proof. destruct (MVT_gen upper x (x + h) (fun x => - std x)) as [z [Hz E]].
  - intros z _. apply upper_derive.
  - intros z _. apply continuity_pt_filterlim, (ex_derive_continuous upper). eexists; apply upper_derive.
  - rewrite E. replace (- std z * (x + h - x) + h * std x) with (- h * (std z - std x)) by ring.
    rewrite Rabs_mult, Rabs_Ropp. assert (N := std_near x z). assert (T := top_pos). assert (D : Rabs (z - x) <= Rabs h).
    { unfold Rabs, Rmin, Rmax in *. repeat destruct (Rcase_abs _) in *; repeat destruct (Rle_dec _ _) in *; lra. }
    assert (top * Rabs (z - x) <= top * Rabs h) by (apply Rmult_le_compat_l; lra).
    assert (SQ : h ^ 2 = Rabs h * Rabs h) by (rewrite <- Rabs_mult, Rabs_pos_eq by nra; ring). rewrite SQ.
    assert (HP := Rabs_pos h). apply Rle_trans with (Rabs h * (top * Rabs h)); [|right; ring].
    apply Rmult_le_compat_l; lra. Qed.
(* Increments that are linear up to the second order give the derivative; a function that has none is constant. *)
Lemma near_derive (H : R -> R) t l C : (forall h, Rabs (H (t + h) - H t - h * l) <= C * h ^ 2) -> is_derive H t l.
Proof. intros HC. assert (C0 : 0 <= C) by (specialize (HC 1); assert (P := Rabs_pos (H (t + 1) - H t - 1 * l)); lra).
  apply is_derive_Reals. intros e He. assert (P : 0 < e / (C + 1)) by (apply Rdiv_lt_0_compat; lra).
  exists (mkposreal _ P). intros h Nh Hh. simpl in Hh. assert (HP := Rabs_pos_lt h Nh). specialize (HC h).
  replace ((H (t + h) - H t) / h - l) with ((H (t + h) - H t - h * l) * / h) by (field; auto).
  rewrite Rabs_mult, Rabs_Rinv by auto.
  apply Rmult_lt_reg_r with (Rabs h); auto. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  assert (SQ : h ^ 2 = Rabs h * Rabs h) by (rewrite <- Rabs_mult, Rabs_pos_eq by nra; ring). rewrite SQ in HC.
  eapply Rle_lt_trans; [exact HC|]. rewrite <- Rmult_assoc. apply Rmult_lt_compat_r; auto.
  apply Rle_lt_trans with ((C + 1) * Rabs h - Rabs h); [lra|]. apply (Rmult_lt_compat_l (C + 1)) in Hh; [|lra].
  replace ((C + 1) * (e / (C + 1))) with e in Hh by (field; lra). lra. Qed.
Lemma flat (H : R -> R) : (forall t, is_derive H t 0) -> forall t, H t = H 0.
Proof. intros D t. destruct (MVT_gen H 0 t (fun _ => 0)) as [z [_ E]].
  - intros z _. apply D.
  - intros z _. apply continuity_pt_filterlim, (ex_derive_continuous H). eexists; apply D.
  - lra. Qed.

(* ---------- one coordinate more ---------- *)
Section Mixed.
Variables u v : R.
Hypothesis Hv : 0 < v.
Let m := sqrt (u * u + v * v).
Lemma m_square : m * m = u * u + v * v.
Proof. apply sqrt_sqrt. nra. Qed.
Lemma m_pos : 0 < m.
Proof. apply sqrt_lt_R0. nra. Qed.
Let f (t z : R) := std z * upper ((t - u * z) / v).
Lemma mixed_int t : exists y, is_line (f t) y.
Proof. apply (dominated_int (f t) std 1); [lra| | |apply std_ge0|].
  - intros a b. apply (ex_RInt_continuous (f t)). intros z _. apply (continuous_mult std (fun z => upper ((t - u * z) / v))).
    + apply (ex_derive_continuous std). eexists; apply std_derive.
    + apply (ex_derive_continuous (fun z => upper ((t - u * z) / v))). apply ex_derive_comp.
      * eexists; apply upper_derive.
      * auto_derive; lra.
  - intros z. unfold f. assert (A := std_ge0 z). assert (B := upper_range ((t - u * z) / v)). split; nra.
  - apply (line_ext (fun x => std (x - 0))); [intros; f_equal; ring|apply std_line]. Qed.
Let G t := line_value (f t).
Lemma G_line t : is_line (f t) (G t).
Proof. destruct (mixed_int t) as [y Y]. unfold G. now rewrite (line_lim _ _ Y). Qed.
Lemma densities t : is_line (fun z => std z * std ((t - u * z) / v)) (std (t / m) * (v / m)).
Proof. assert (M := m_pos). assert (MM := m_square). assert (V : 0 < v / m) by now apply Rdiv_lt_0_compat.
  rewrite <- (Rmult_1_r (v / m)), <- Rmult_assoc.
  apply (line_ext (fun z => std (t / m) * (v / m) * normal (v / m) (u * t / (m * m)) z)).
  - intros z. unfold normal, std. set (k := / (2 * half)).
    assert (X : g z * g ((t - u * z) / v) = g (t / m) * g ((z - u * t / (m * m)) / (v / m))).
    { unfold g. rewrite <- !exp_plus. f_equal. replace ((t / m) ^ 2) with (t * t / (m * m)) by (field; lra).
      replace (((z - u * t / (m * m)) / (v / m)) ^ 2) with ((z - u * t / (m * m)) ^ 2 * (m * m) / (v * v)) by (field; lra).
      rewrite MM. field. split; nra. }
    replace (k * g (t / m) * (v / m) * (/ (v / m) * (k * g ((z - u * t / (m * m)) / (v / m)))))
      with (k * k * (g (t / m) * g ((z - u * t / (m * m)) / (v / m)))) by (field; lra).
    rewrite <- X. ring.
  - apply line_scal. now apply normal_line. Qed.
Lemma G_near t h : Rabs (G (t + h) - G t + h / m * std (t / m)) <= top * (h / v) ^ 2.
Proof. assert (M := m_pos). assert (I : is_line (fun z => f (t + h) z + -1 * f t z + h / v * (std z * std ((t - u * z) / v)))
      (G (t + h) + -1 * G t + h / v * (std (t / m) * (v / m)))).
  { exact (line_plus _ _ _ _ (line_plus _ _ _ _ (G_line _) (line_scal (-1) _ _ (G_line _))) (line_scal (h / v) _ _ (densities t))). }
  replace (G (t + h) + -1 * G t + h / v * (std (t / m) * (v / m))) with (G (t + h) - G t + h / m * std (t / m)) in I by (field; lra).
  assert (B : is_line (fun z => top * (h / v) ^ 2 * std (z - 0)) (top * (h / v) ^ 2 * 1)) by (apply line_scal, std_line).
  assert (P : forall z, -1 * (top * (h / v) ^ 2 * std (z - 0)) <= f (t + h) z + -1 * f t z + h / v * (std z * std ((t - u * z) / v))
      <= top * (h / v) ^ 2 * std (z - 0)).
  { intros z. match goal with |- -1 * ?c <= ?a <= _ => enough (Rabs a <= c) as X by (apply Rabs_le_between in X; lra) end.
    rewrite Rminus_0_r. unfold f. replace ((t + h - u * z) / v) with ((t - u * z) / v + h / v) by (field; lra).
    set (y := (t - u * z) / v). replace (std z * upper (y + h / v) + -1 * (std z * upper y) + h / v * (std z * std y))
      with (std z * (upper (y + h / v) - upper y + h / v * std y)) by ring.
    rewrite Rabs_mult, (Rabs_pos_eq (std z)), Rmult_comm by apply std_ge0. apply Rmult_le_compat_r; [apply std_ge0|apply upper_near]. }
  apply Rabs_le. split.
  - assert (L : -1 * (top * (h / v) ^ 2 * 1) <= G (t + h) - G t + h / m * std (t / m)); [|lra].
    apply (line_le _ _ _ _ (fun z => proj1 (P z)) (line_scal (-1) _ _ B) I).
  - assert (L := line_le _ _ _ _ (fun z => proj2 (P z)) I B). lra. Qed.
Lemma G_half : G 0 = 1 / 2.
Proof. assert (A := G_line 0). assert (B := line_mirror _ _ A).
  assert (C : is_line (f 0) (1 + -1 * G 0)).
  { apply (line_ext (fun z => std (z - 0) + -1 * f 0 (- z))).
    - intros z. unfold f. rewrite Rminus_0_r, std_even. replace ((0 - u * - z) / v) with (- ((0 - u * z) / v)) by (field; lra).
      rewrite upper_mirror. ring.
    - apply line_plus; [apply std_line|]. now apply line_scal. }
  assert (K := int_unique line _ _ _ A C). lra. Qed.
Theorem upper_mixed t : is_line (fun z => std z * upper ((t - u * z) / v)) (upper (t / m)).
Proof. assert (M := m_pos). assert (T := top_pos). change (is_line (f t) (upper (t / m))). replace (upper (t / m)) with (G t); [apply G_line|].
  assert (K := flat (fun t => G t - upper (t / m))). cbv beta in K.
  assert (Z : upper (0 / m) = 1 / 2).
  { assert (H := half_pos). replace (0 / m) with 0 by (field; lra). unfold upper, area. rewrite (RInt_point 0 g). unfold zero; simpl. field; lra. }
  rewrite Z, G_half in K. enough (G t - upper (t / m) = 1 / 2 - 1 / 2) by lra. apply K. intros s.
  apply near_derive with (top * (/ v * / v + / m * / m)). intros h. assert (A := G_near s h). assert (B := upper_near (s / m) (h / m)). replace ((s + h) / m) with (s / m + h / m) by (field; lra).
  replace (top * (/ v * / v + / m * / m) * h ^ 2) with (top * (h / v) ^ 2 + top * (h / m) ^ 2) by (field; lra).
  apply Rabs_le_between in A. apply Rabs_le_between in B. apply Rabs_le. lra. Qed.
End Mixed.

(* The divergence of two normal laws at any distance, 0 too. *)
Definition tip (m a : R) := if Rlt_dec 0 m then stick m a else pos (1 - a).
Lemma tip_int u a : is_line (fun z => pos (std (z - u) - a * std z)) (tip (Rabs u) a).
Proof. unfold tip. destruct (Rlt_dec 0 (Rabs u)) as [H|H].
  - destruct (Rle_dec 0 u) as [S|S]; [rewrite Rabs_pos_eq in * by auto; now apply stick_int|].
    rewrite Rabs_left in * by lra. apply (line_ext (fun z => (fun z => pos (std (z - - u) - a * std z)) (- z))).
    + intros z. cbv beta. replace (- z - - u) with (- (z - u)) by ring. now rewrite !std_even.
    + exact (line_mirror _ _ (stick_int (- u) a H)).
  - assert (u = 0) by (destruct (Req_dec u 0) as [Z|Z]; [auto|apply Rabs_pos_lt in Z; lra]). subst.
    rewrite <- (Rmult_1_r (pos (1 - a))). apply (line_ext (fun z => pos (1 - a) * std (z - 0))); [|apply line_scal, std_line].
    intros z. rewrite Rminus_0_r, (Rmult_comm (pos _)), pos_scal by apply std_ge0. f_equal; ring. Qed.
Definition odds (u z : R) := exp (- (u * z - u * u / 2)).
Lemma std_odds u z : std z = std (z - u) * odds u z.
Proof. rewrite std_ratio. unfold odds. rewrite (Rmult_comm (exp _)), Rmult_assoc, <- exp_plus.
  replace (u * z - u * u / 2 + - (u * z - u * u / 2)) with 0 by ring. rewrite exp_0; ring. Qed.
Theorem tip_mixed u v a : 0 <= v -> is_line (fun z => std (z - u) * tip v (a * odds u z)) (tip (sqrt (u * u + v * v)) a).
Proof. intros [Hv| <-].
  2:{ replace (sqrt (u * u + 0 * 0)) with (Rabs u) by (rewrite <- sqrt_Rsqr_abs; f_equal; unfold Rsqr; ring).
    apply (line_ext (fun z => pos (std (z - u) - a * std z))); [|apply tip_int]. intros z. unfold tip.
    destruct (Rlt_dec 0 0); [lra|]. rewrite pos_scal by apply std_ge0. f_equal. rewrite (std_odds u z) at 1. ring. }
  assert (M := m_pos u v Hv). assert (MM := m_square u v). set (m := sqrt _) in *.
  unfold tip. destruct (Rlt_dec 0 v) as [_|]; [|lra]. destruct (Rlt_dec 0 m) as [_|]; [|lra]. unfold stick.
  assert (O : forall z, 0 < odds u z) by (intros; apply exp_pos). destruct (Rlt_dec 0 a) as [Ha|Ha].
  - assert (A : is_line (fun z => std (z - u) * upper ((ln a - m * m / 2 - u * (z - u)) / v)) (upper ((ln a - m * m / 2) / m))).
    { assert (K := upper_mixed u v Hv (ln a - m * m / 2)). fold m in K. apply (line_affine _ 1 (- u)) in K; [|lra].
      rewrite Rinv_1, Rmult_1_l in K. eapply line_ext; [|exact K]. intros z. cbv beta.
      replace (1 * z + - u) with (z - u) by ring. reflexivity. }
    assert (B := upper_mixed u v Hv (ln a + m * m / 2)). fold m in B.
    replace (upper (cut m a - m) - a * upper (cut m a)) with (upper ((ln a - m * m / 2) / m) + - a * upper ((ln a + m * m / 2) / m))
      by (unfold cut; replace ((ln a - m * m / 2) / m) with (ln a / m + m / 2 - m) by (field; lra);
          replace ((ln a + m * m / 2) / m) with (ln a / m + m / 2) by (field; lra); ring).
    eapply line_ext; [|apply line_plus; [exact A|apply line_scal; exact B]]. intros z. cbv beta.
    destruct (Rlt_dec 0 (a * odds u z)) as [_|N]; [|exfalso; apply N; now apply Rmult_lt_0_compat].
    assert (L : ln (a * odds u z) = ln a - (u * z - u * u / 2)) by (rewrite ln_mult by auto; unfold odds; rewrite ln_exp; ring).
    unfold cut. rewrite L, (std_odds u z).
    replace ((ln a - (u * z - u * u / 2)) / v + v / 2 - v) with ((ln a - m * m / 2 - u * (z - u)) / v) by (rewrite MM; field; lra).
    replace ((ln a - (u * z - u * u / 2)) / v + v / 2) with ((ln a + m * m / 2 - u * z) / v) by (rewrite MM; field; lra). ring.
  - replace (1 - a) with (1 + - a * 1) by ring.
    eapply line_ext; [|apply line_plus; [apply (std_line u)|apply line_scal; apply (std_line 0)]]. intros z. cbv beta.
    destruct (Rlt_dec 0 (a * odds u z)) as [N|_].
    + exfalso. specialize (O z). assert (a * odds u z <= 0) by nra. lra.
    + rewrite Rminus_0_r. rewrite (std_odds u z). ring. Qed.
Lemma tip_grows v m a : 0 < m -> v <= m -> tip v a <= stick m a.
Proof. intros Hm H. unfold tip. destruct (Rlt_dec 0 v); [now apply stick_mono|now apply stick_zero]. Qed.

Lemma tip_mono v m a : 0 <= v -> v <= m -> tip v a <= tip m a.
Proof. intros H0 H. destruct (Rle_lt_or_eq_dec 0 m ltac:(lra)) as [M| <-]; [|replace v with 0 by lra; lra].
  unfold tip at 2. destruct (Rlt_dec 0 m); [now apply tip_grows|lra]. Qed.

(* ---------- R^d ---------- *)
Definition times {T U} (A : integral T) (B : integral U) : integral (T * U).
Proof. refine {| is_int := fun f v => exists F, (forall x, is_int B (fun y => f (x, y)) (F x)) /\ is_int A F v |}.
  - exists (fun _ => 0). split; [intros; apply int_zero|apply int_zero].
  - intros f g v H [F [I J]]. exists F. split; auto. intros x. apply (int_ext B (fun y => f (x, y))); auto.
  - intros f g u v [F [I J]] [G [K L]]. exists (fun x => F x + G x). split; [|now apply int_plus].
    intros x. now apply (int_plus B (fun y => f (x, y)) (fun y => g (x, y))).
  - intros c f v [F [I J]]. exists (fun x => c * F x). split; [|now apply int_scal]. intros x. now apply (int_scal B c (fun y => f (x, y))).
  - intros f g u v H [F [I J]] [G [K L]]. apply (int_le A F G); auto. intros x.
    apply (int_le B (fun y => f (x, y)) (fun y => g (x, y))); auto. Defined.
Definition point : integral unit.
Proof. refine {| is_int := fun f v => f tt = v |}; intros; subst; auto. Defined.
Notation vec := (@tup R).
Fixpoint space (d : nat) : integral (vec d) :=
  match d with O => point | Datatypes.S d => times line (space d) end.

Fixpoint zeros (d : nat) : vec d := match d with O => tt | Datatypes.S d => (0, zeros d) end.
Fixpoint plus_vec {d} : vec d -> vec d -> vec d :=
  match d with O => fun _ _ => tt | Datatypes.S d => fun a b => (fst a + fst b, plus_vec (snd a) (snd b)) end.
Fixpoint opp_vec {d} : vec d -> vec d :=
  match d with O => fun _ => tt | Datatypes.S d => fun a => (- fst a, opp_vec (snd a)) end.
Fixpoint squares {d} : vec d -> R :=
  match d with O => fun _ => 0 | Datatypes.S d => fun a => fst a * fst a + squares (snd a) end.
Definition norm {d} (a : vec d) := sqrt (squares a).
(* the sum of a query over a batch *)
Fixpoint total {X d} (f : X -> vec d) (batch : list X) : vec d :=
  match batch with [] => zeros d | x :: batch => plus_vec (f x) (total f batch) end.
(* the density of c plus normal noise of scale sigma in every coordinate *)
Fixpoint normals {d} (sigma : R) : vec d -> vec d -> R :=
  match d with O => fun _ _ => 1 | Datatypes.S d => fun c y => normal sigma (fst c) (fst y) * normals sigma (snd c) (snd y) end.

Lemma squares_ge0 {d} (a : vec d) : 0 <= squares a.
Proof. induction d as [|d IH]; simpl; [lra|]. specialize (IH (snd a)). nra. Qed.
Lemma squares_opp {d} (a : vec d) : squares (opp_vec a) = squares a.
Proof. induction d as [|d IH]; simpl; [auto|]. rewrite IH; ring. Qed.
Lemma plus_opp {d} (a b : vec d) : plus_vec (plus_vec a b) (opp_vec a) = b.
Proof. induction d as [|d IH]; [now destruct b|]. destruct a, b. cbn. rewrite IH. f_equal; ring. Qed.
Lemma plus_comm {d} (a b : vec d) : plus_vec a b = plus_vec b a.
Proof. induction d as [|d IH]; [reflexivity|]. cbn. rewrite IH. f_equal; ring. Qed.

Lemma plus_swap {d} (a b c : vec d) : plus_vec a (plus_vec b c) = plus_vec b (plus_vec a c).
Proof. induction d as [|d IH]; [reflexivity|]. cbn. rewrite IH. f_equal; ring. Qed.
Lemma plus_zeros {d} (a : vec d) : plus_vec (zeros d) a = a.
Proof. induction d as [|d IH]; [now destruct a|]. destruct a. cbn. rewrite IH. f_equal; ring. Qed.

Lemma normal_pos sigma c x : 0 < sigma -> 0 < normal sigma c x.
Proof. intros. assert (H' := half_pos). apply Rmult_lt_0_compat; [now apply Rinv_0_lt_compat|].
  apply Rmult_lt_0_compat; [apply Rinv_0_lt_compat; lra|apply g_pos]. Qed.
Section Normals.
Variable sigma : R.
Hypothesis Hs : 0 < sigma.
Lemma normals_ge0 d (c y : vec d) : 0 <= normals sigma c y.
Proof. induction d as [|d IH]; simpl; [lra|]. apply Rmult_le_pos; auto. now apply normal_ge0. Qed.
Lemma normals_int d (c : vec d) : is_int (space d) (normals sigma c) 1.
Proof. induction d as [|d IH]; simpl; auto. exists (fun x => normal sigma (fst c) x * 1). split.
  - intros x. apply (int_scal (space d)), IH.
  - apply (line_ext (normal sigma (fst c))); [intros; ring|now apply normal_line]. Qed.
Lemma normals_pos d (c y : vec d) : 0 < normals sigma c y.
Proof. induction d as [|d IH]; simpl; [lra|]. apply Rmult_lt_0_compat; auto. now apply normal_pos. Qed.
Lemma norm_ge0 {d} (v : vec d) : 0 <= norm v / sigma.
Proof. apply Rmult_le_pos; [apply sqrt_pos|left; now apply Rinv_0_lt_compat]. Qed.
(* d coordinates and what is left, whose divergence is tip n *)
Theorem normals_mixed d n : 0 <= n -> forall (c v : vec d) a,
  is_int (space d) (fun y => normals sigma (plus_vec c v) y * tip n (a * (normals sigma c y / normals sigma (plus_vec c v) y)))
    (tip (sqrt (norm v / sigma * (norm v / sigma) + n * n)) a).
Proof. intros Hn. induction d as [|d IH]; intros c v a.
  - simpl. unfold norm; simpl. rewrite sqrt_0. replace (0 / sigma * (0 / sigma) + n * n) with (n * n) by (unfold Rdiv; ring).
    rewrite sqrt_square by auto. replace (a * (1 / 1)) with a by field. ring.
  - destruct c as [c1 c], v as [v1 v]. set (u := v1 / sigma). set (m := sqrt (norm v / sigma * (norm v / sigma) + n * n)).
    set (f := fun z => std (z - u) * tip m (a * odds u z)). assert (V := Rinv_0_lt_compat _ Hs).
    exists (fun x => / sigma * f ((x - c1) / sigma)). split.
    + intros x. cbn [fst snd plus_vec normals]. set (z := (x - c1) / sigma). unfold f.
      assert (N0 : normal sigma c1 x = / sigma * std z) by reflexivity.
      assert (N1 : normal sigma (c1 + v1) x = / sigma * std (z - u)) by (unfold normal, z, u; do 2 f_equal; field; lra).
      assert (P1 := normal_pos sigma (c1 + v1) x Hs). rewrite N1 in *. rewrite N0, (std_odds u z), <- !Rmult_assoc.
      set (k := / sigma * std (z - u)) in *.
      apply (int_ext (space d) (fun y => k * (normals sigma (plus_vec c v) y * tip n (a * odds u z * (normals sigma c y / normals sigma (plus_vec c v) y))))).
      * intros y. assert (P2 := normals_pos d (plus_vec c v) y). rewrite <- Rmult_assoc. do 2 f_equal. field; lra.
      * apply (int_scal (space d)), IH.
    + cbn [fst snd]. apply rescaled; auto.
      replace (sqrt (@norm (Datatypes.S d) (v1, v) / sigma * (@norm (Datatypes.S d) (v1, v) / sigma) + n * n)) with (sqrt (u * u + m * m)).
      * apply tip_mixed, sqrt_pos.
      * f_equal. unfold m. rewrite sqrt_sqrt by (assert (Q := norm_ge0 v); nra). unfold u, norm. cbn [squares fst snd].
        assert (Q := squares_ge0 v). unfold Rdiv.
        replace (sqrt (v1 * v1 + squares v) * / sigma * (sqrt (v1 * v1 + squares v) * / sigma)) with
          (sqrt (v1 * v1 + squares v) * sqrt (v1 * v1 + squares v) * (/ sigma * / sigma)) by ring.
        replace (sqrt (squares v) * / sigma * (sqrt (squares v) * / sigma)) with (sqrt (squares v) * sqrt (squares v) * (/ sigma * / sigma)) by ring.
        rewrite !sqrt_sqrt by nra. ring. Qed.
Theorem normals_tip d (c v : vec d) a :
  is_int (space d) (fun y => pos (normals sigma (plus_vec c v) y - a * normals sigma c y)) (tip (norm v / sigma) a).
Proof. assert (K := normals_mixed d 0 (Rle_refl 0) c v a). replace (sqrt (norm v / sigma * (norm v / sigma) + 0 * 0)) with (norm v / sigma) in K.
  - eapply (int_ext (space d)); [|exact K]. intros y. cbv beta. assert (P := normals_pos d (plus_vec c v) y).
    unfold tip. destruct (Rlt_dec 0 0); [lra|]. rewrite pos_scal by lra. f_equal. field; lra.
  - rewrite Rmult_0_l, Rplus_0_r, sqrt_square; [reflexivity|apply norm_ge0]. Qed.
Theorem gaussian_space d (c v : vec d) a : norm v <= 1 ->
  upto (space d) (fun y => pos (normals sigma (plus_vec c v) y - a * normals sigma c y)) (stick (/ sigma) a).
Proof. intros H. assert (V := Rinv_0_lt_compat _ Hs). eexists. eexists. split; [intros; apply Rle_refl|]. split; [apply normals_tip|].
  apply tip_grows; auto. rewrite <- (Rmult_1_l (/ sigma)). apply Rmult_le_compat_r; lra. Qed.
End Normals.

(* ---------- adaptive Gaussian steps are one (T15) ---------- *)
Definition root (rs : list R) := sqrt (S (fun r => r * r) rs).
Lemma S_squares_ge0 rs : 0 <= S (fun r => r * r) rs.
Proof. induction rs as [|r rs IH]; simpl; [lra|nra]. Qed.
(* each step in turn is normal noise on centres that are at most r standard deviations apart *)
Fixpoint all_shifted {d} (P Q : list (vec d) -> vec d -> R) (rs : list R) (h : list (vec d)) : Prop :=
  match rs with
  | [] => True
  | r :: rs => (exists sigma c v, 0 < sigma /\ norm v / sigma <= r /\ (forall y, P h y = normals sigma (plus_vec c v) y)
      /\ (forall y, Q h y = normals sigma c y)) /\ forall y, all_shifted P Q rs (y :: h)
  end.
Theorem gaussian_merged {d} (P Q : list (vec d) -> vec d -> R) test : (forall h, 0 <= test h <= 1) ->
  forall rs h u v, all_shifted P Q rs h -> expect (space d) P test (length rs) h u -> expect (space d) Q test (length rs) h v ->
  0 <= v /\ forall a, u - a * v <= tip (root rs) a.
Proof. intros Ht. induction rs as [|r rs IH]; intros h u v HS HU HV; cbn [length expect all_shifted] in *.
  - subst. specialize (Ht h). split; [lra|]. intros a. unfold root; simpl. rewrite sqrt_0. unfold tip. destruct (Rlt_dec 0 0); [lra|].
    unfold pos. assert (A := Rmax_l 0 (1 - a)). assert (B := Rmax_r 0 (1 - a)). nra.
  - destruct HS as [[sigma [c [w [Hs [Hw [HP HQ]]]]]] HS]. destruct HU as [F [HF IF]]. destruct HV as [G [HG IG]].
    assert (K : forall y, 0 <= G y /\ forall a, F y - a * G y <= tip (root rs) a) by (intros y; eapply IH; eauto).
    assert (P0 : forall y, 0 < P h y) by (intros; rewrite HP; now apply normals_pos).
    assert (Q0 : forall y, 0 < Q h y) by (intros; rewrite HQ; now apply normals_pos).
    split; [apply (int_ge0 (space d) _ _ (fun y => Rmult_le_pos _ _ (Rlt_le _ _ (Q0 y)) (proj1 (K y))) IG)|]. intros a.
    assert (M := normals_mixed sigma Hs d (root rs) (sqrt_pos _) c w a).
    assert (I : is_int (space d) (fun y => P h y * F y - a * (Q h y * G y)) (u - a * v)) by now apply int_minus, int_scal.
    assert (L : forall y, P h y * F y - a * (Q h y * G y)
      <= normals sigma (plus_vec c w) y * tip (root rs) (a * (normals sigma c y / normals sigma (plus_vec c w) y))).
    { intros y. rewrite <- HP, <- HQ. assert (PP := P0 y). assert (L := proj2 (K y) (a * (Q h y / P h y))).
      apply (Rmult_le_compat_l (P h y)) in L; [|lra].
      replace (P h y * (F y - a * (Q h y / P h y) * G y)) with (P h y * F y - a * (Q h y * G y)) in L by (field; lra). exact L. }
    eapply Rle_trans; [exact (int_le (space d) _ _ _ _ L I M)|].
    apply tip_mono; [apply sqrt_pos|]. unfold root. cbn [S]. assert (Q1 := S_squares_ge0 rs). assert (N := norm_ge0 sigma Hs w).
    apply sqrt_le_1_alt. rewrite sqrt_sqrt by auto. nra. Qed.
