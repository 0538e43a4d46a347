(* 21. The line of Trapezoid.v for the sampled Gaussian's own losses, where all that it assumes of integrals holds.

   The loss of one output is at most m |x| + m^2/2 (loss_most), so that P e^(c L) is at most a sum of normal densities and has
   an integral, with e^(i w L) too (gaussian_transform).  delta of k independent outputs exists as an iterated integral,
   since it is the mean of a continuous function (many_means).
     line_sampled_gaussian: so the k-th power of one transform, at finitely many frequencies, encloses delta of k
       Poisson-sampled Gaussian steps.
   How the transform's integrals are found is not part of it. *)
Require Import Reals List Lra Lia.
From Coquelicot Require Import Coquelicot.
From VerifiedDP Require Chernoff HockeyStick.
From VerifiedDP Require Import Law Integral Normal Space SampledGaussian Means Continuous Fourier Trapezoid.
Open Scope R_scope.

Lemma tilted_line u v : is_line (fun x => exp (u * x) * std (x - v)) (exp (u * v + u * u / 2)).
Proof. rewrite <- (Rmult_1_r (exp (u * v + u * u / 2))). apply (line_ext (fun x => exp (u * v + u * u / 2) * std (x - (u + v)))); [|apply line_scal, std_line].
  intros x. rewrite !std_ratio, <- !Rmult_assoc, <- !exp_plus. do 2 f_equal. field. Qed.
Lemma continuous_cont (f : R -> R) : (forall x, continuous f x) -> cont near_R near_R f.
Proof. intros H x e He. assert (C : continuity_pt f x) by (apply continuity_pt_filterlim, H). destruct (C e He) as [d [D0 D]]. exists d. split; [exact D0|].
  intros y Y. cbn in *. destruct (Req_dec x y) as [->|Ne]; [rewrite Rminus_eq_0, Rabs_R0; auto|]. apply D. split; [split; [exact Logic.I|exact Ne]|exact Y]. Qed.
Section Gaussian.
Variables (o : order) (q m : R).
Hypothesis Hq : 0 < q <= 1.
Hypothesis Hm : 0 < m.
Let P := pair_P o q m.
Let Q := pair_Q o q m.
Let L := loss o q m.
Lemma loss_most x : L x <= m * Rabs x + m * m / 2.
Proof. unfold L, loss. assert (S := std_pos x). set (y := m * x - m * m / 2). set (r := 1 - q + q * exp y). assert (E := exp_pos y).
  assert (R0 : 0 < r) by (unfold r; nra). assert (MX : mix q (shifted m) std x = r * std x).
  { unfold mix, shifted, r. rewrite std_ratio. fold y. ring. }
  assert (Y : Rabs y <= m * Rabs x + m * m / 2).
  { unfold y. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_Ropp, Rabs_mult, (Rabs_pos_eq m), (Rabs_pos_eq (m * m / 2)) by nra. lra. }
  assert (B : exp (- Rabs y) <= r <= exp (Rabs y)).
  { assert (A0 := Rabs_pos y). assert (U1 : exp y <= exp (Rabs y)) by (apply exp_le, Rle_abs). assert (U2 : 1 <= exp (Rabs y)) by (rewrite <- exp_0; now apply exp_le).
    assert (V1 : exp (- Rabs y) <= exp y) by (apply exp_le; assert (Z := Rle_abs (- y)); rewrite Rabs_Ropp in Z; lra). assert (V2 : exp (- Rabs y) <= 1) by (rewrite <- exp_0; apply exp_le; lra).
    unfold r. split; nra. }
  assert (LR : forall z, z <= exp (Rabs y) -> 0 < z -> ln z <= Rabs y) by (intros z Z1 Z0; rewrite <- (ln_exp (Rabs y)); apply ln_le; auto).
  eapply Rle_trans; [|exact Y]. destruct o; cbn [pair_P pair_Q]; rewrite MX.
  - replace (r * std x / std x) with r by (field; lra). now apply LR.
  - replace (std x / (r * std x)) with (/ r) by (field; split; lra). apply LR; [|now apply Rinv_0_lt_compat].
    replace (exp (Rabs y)) with (/ exp (- Rabs y)) by (rewrite exp_Ropp, Rinv_inv; auto). apply Rinv_le_contravar; [apply exp_pos|apply B]. Qed.
Lemma loss_continuous x : continuous L x.
Proof. destruct (loss_derive o q m x) as [DP DQ]. destruct (pair_pos o q m Hq x) as [PP QP]. apply (ex_derive_continuous L). unfold L, loss. auto_derive.
  repeat split; auto; [apply Rgt_not_eq; exact QP|exact (Rdiv_lt_0_compat _ _ PP QP)]. Qed.
Lemma pair_P_continuous x : continuous P x.
Proof. destruct (loss_derive o q m x) as [DP _]. now apply (ex_derive_continuous P). Qed.
(* what P e^(c L) is at most *)
Definition above_tilted (c x : R) : R := exp (c * (m * m / 2)) * ((exp (c * m * x) * std (x - 0) + exp (- (c * m) * x) * std (x - 0)) + (exp (c * m * x) * std (x - m) + exp (- (c * m) * x) * std (x - m))).
Lemma tilted_most c x : 0 <= c -> 0 <= P x * exp (c * L x) <= above_tilted c x.
Proof. intros Hc. assert (PP := proj1 (pair_pos o q m Hq x)). fold P in PP. assert (E := exp_pos (c * L x)). split; [apply Rmult_le_pos; lra|].
  assert (B : exp (c * L x) <= exp (c * (m * m / 2)) * (exp (c * m * x) + exp (- (c * m) * x))).
  { apply Rle_trans with (exp (c * (m * m / 2)) * exp (c * m * Rabs x)).
    - rewrite <- exp_plus. apply exp_le. assert (K := loss_most x). apply (Rmult_le_compat_l c) in K; auto. lra.
    - apply Rmult_le_compat_l; [left; apply exp_pos|]. assert (E1 := exp_pos (c * m * x)). assert (E2 := exp_pos (- (c * m) * x)).
      unfold Rabs. destruct (Rcase_abs x); [replace (c * m * - x) with (- (c * m) * x) by ring|]; lra. }
  assert (PM : P x <= std (x - 0) + std (x - m)).
  { rewrite Rminus_0_r. assert (A1 := std_ge0 x). assert (A2 := std_ge0 (x - m)). unfold P. destruct o; cbn [pair_P]; [unfold mix, shifted; nra|lra]. }
  unfold above_tilted. eapply Rle_trans; [apply Rmult_le_compat; [lra|lra|exact PM|exact B]|]. right. ring. Qed.
Lemma above_line c : exists v, 0 < v /\ is_line (above_tilted c) v.
Proof. eexists. split; [|unfold above_tilted; apply line_scal; apply line_plus; apply line_plus; apply tilted_line].
  apply Rmult_lt_0_compat; [apply exp_pos|]. assert (X := fun z => exp_pos z). assert (A1 := X (c * m * 0 + c * m * (c * m) / 2)). assert (A2 := X (- (c * m) * 0 + - (c * m) * - (c * m) / 2)).
  assert (A3 := X (c * m * m + c * m * (c * m) / 2)). assert (A4 := X (- (c * m) * m + - (c * m) * - (c * m) / 2)). lra. Qed.
Lemma tilted_int c (f : R -> R) : 0 <= c -> (forall x, continuous f x) -> (forall x, 0 <= f x <= 2) -> exists v, is_line (fun x => P x * exp (c * L x) * f x) v.
Proof. intros Hc FC F02. destruct (above_line c) as [v [V0 V]]. apply (dominated_int _ (fun x => / v * above_tilted c x) (2 * v)); [lra| | | |].
  - intros a b. apply (ex_RInt_continuous (fun x => P x * exp (c * L x) * f x)). intros x _. apply (continuous_mult (fun x => P x * exp (c * L x)) f); [|apply FC].
    apply (continuous_mult P (fun x => exp (c * L x))); [apply pair_P_continuous|]. apply (continuous_comp (fun x => c * L x) exp); [apply (continuous_scal_r c L), loss_continuous|].
    apply (ex_derive_continuous exp). auto_derive; auto.
  - intros x. destruct (tilted_most c x Hc) as [T0 T1]. specialize (F02 x). split; [apply Rmult_le_pos; lra|].
    replace (2 * v * (/ v * above_tilted c x)) with (above_tilted c x * 2) by (field; lra). apply Rmult_le_compat; lra.
  - intros x. destruct (tilted_most c x Hc). apply Rmult_le_pos; [left; now apply Rinv_0_lt_compat|lra].
  - assert (K := line_scal (/ v) _ _ V). now rewrite Rinv_l in K by lra. Qed.
Lemma gaussian_moment c : 0 <= c -> exists M, is_line (fun x => P x * exp (c * L x)) M.
Proof. intros Hc. destruct (tilted_int c (fun _ => 1) Hc) as [v V]; [intros; apply continuous_const|intros; lra|]. exists v. apply (line_ext _ _ _ (fun x => Rmult_1_r _) V). Qed.
Theorem gaussian_transform c u : 0 <= c -> exists M : C, transform_int line P L (c, u) M.
Proof. intros Hc. destruct (gaussian_moment c Hc) as [v V].
  assert (G : forall t : R -> R, (forall x, continuous t x) -> (forall x, -1 <= t x <= 1) -> exists y, is_line (fun x => P x * (exp (c * L x) * t (u * L x))) y).
  { intros t TC T1. destruct (tilted_int c (fun x => 1 + t (u * L x)) Hc) as [y Y].
    - intros x. apply (continuous_plus (fun _ => 1) (fun x => t (u * L x))); [apply continuous_const|]. apply (continuous_comp (fun x => u * L x) t); [apply (continuous_scal_r u L), loss_continuous|apply TC].
    - intros x. specialize (T1 (u * L x)). lra.
    - exists (y - v). eapply line_ext; [|exact (int_minus line _ _ _ _ Y V)]. intros x. cbv beta. ring. }
  destruct (G cos) as [y1 Y1]; [intros; apply continuous_cos|apply COS_bound|]. destruct (G sin) as [y2 Y2]; [intros; apply continuous_sin|apply SIN_bound|].
  exists (y1, y2). split; [exact Y1|exact Y2]. Qed.

(* ---------- k outputs ---------- *)
Theorem many_means k : forall {H} (N : nearness H) (G : H * vec k -> R), cont (near_pair N (near_vec k)) near_R G -> (forall z, 0 <= G z <= 1) ->
  exists F, cont N near_R F /\ (forall h, 0 <= F h <= 1) /\ forall h, is_int (many line k) (fun x => dens P k x * G (h, x)) (F h).
Proof. induction k as [|k IH]; intros H N G GC G01.
  - exists (fun h => G (h, tt)). repeat split; try apply G01.
    + apply (cont_comp N (near_pair N near_unit) near_R (fun z => (z, tt)) G); [|exact GC]. apply cont_two; [apply cont_id|apply (cont_const N near_unit tt)].
    + intros h. cbn. ring.
  - set (N' := near_pair N near_R).
    destruct (IH (H * R)%type N' (fun a => G (fst (fst a), (snd (fst a), snd a)))) as [F [F0 [F1 F2]]].
    + apply (cont_comp _ (near_pair N (near_pair near_R (near_vec k))) _ (fun a : (H * R) * vec k => (fst (fst a), (snd (fst a), snd a))) G); [|exact GC].
      assert (A : cont (near_pair N' (near_vec k)) N' fst) by (apply cont_fst with (K := near_vec k), cont_id).
      apply cont_two; [now apply cont_fst with (K := near_R)|]. apply cont_two; [now apply cont_snd with (M := N)|]. apply cont_snd with (M := N'), cont_id.
    + intros z. apply G01.
    + set (p := fun (z : H) x => P x). assert (PC : cont N' near_R (fun zx => p (fst zx) (snd zx))).
      { unfold p. apply (cont_comp N' near_R near_R snd P); [apply cont_snd with (M := N), cont_id|]. apply continuous_cont, pair_P_continuous. }
      assert (PG : forall z x, 0 <= p z x) by (intros; left; apply pair_pos; auto). assert (PL : forall z, is_line (p z) 1) by (intros; apply (pair_P_int q m o)).
      exists (coordinate p (fun _ => 1) F). split; [now apply (coordinate_cont N p (fun _ => 1) F PG PL PC interval_line)|].
      split; [intros; now apply (coordinate_range N p (fun _ => 1) F PG PL PC interval_line)|].
      intros h. exists (fun x => p h x * (1 * F (h, x))). split; [|exact (coordinate_int N p (fun _ => 1) F PG PL PC interval_line F0 F1 h)].
      intros x. assert (K := int_scal (many line k) (p h x) _ _ (F2 (h, x))). rewrite Rmult_1_l. eapply int_ext; [|exact K]. intros y. cbn [dens fst snd]. unfold p. rewrite Rmult_assoc. reflexivity. Qed.
Lemma loss_sum_cont k : cont (near_vec k) near_R (loss_sum L k).
Proof. induction k as [|k IH]; cbn [loss_sum]; [apply (cont_const near_unit near_R 0)|]. apply cont_plus.
  - apply (cont_comp _ near_R near_R fst L); [apply cont_fst with (K := near_vec k), cont_id|]. apply continuous_cont, loss_continuous.
  - apply (cont_comp _ (near_vec k) near_R snd (loss_sum L k)); [apply cont_snd with (M := near_R), cont_id|exact IH]. Qed.
Lemma w_near e x y : Rabs (w e y - w e x) <= 1 * Rabs (y - x).
Proof. assert (G : forall a b, a <= b -> 0 <= w e b - w e a <= b - a).
  { intros a b AB. split; [generalize (w_mono e a b AB); lra|]. unfold w. assert (A := pos_ge0 (1 - exp (e - a))). assert (AR : 1 - exp (e - a) <= pos (1 - exp (e - a))) by apply Rmax_r.
    unfold pos at 1. apply Rle_minus_l. apply Rmax_lub; [lra|]. destruct (Rle_dec e a) as [EA|EA].
    - assert (X : exp (e - a) <= 1) by (rewrite <- exp_0; apply exp_le; lra). assert (E1 : exp (e - b) = exp (e - a) * exp (a - b)) by (rewrite <- exp_plus; f_equal; ring).
      assert (I1 := exp_ineq1_le (a - b)). assert (X0 := exp_pos (e - a)). assert (X1 : exp (a - b) <= 1) by (rewrite <- exp_0; apply exp_le; lra). nra.
    - assert (I1 := exp_ineq1_le (e - b)). lra. }
  rewrite Rmult_1_l. destruct (Rle_dec x y) as [Q0|Q0]; [destruct (G x y Q0); rewrite !Rabs_pos_eq by lra; lra|]. destruct (G y x ltac:(lra)). rewrite !Rabs_left1 by lra. lra. Qed.
Lemma loss_stick k eps x : dens P k x * w eps (loss_sum L k x) = pos (dens P k x - exp eps * dens Q k x).
Proof. assert (G : 0 < dens P k x /\ 0 < dens Q k x /\ loss_sum L k x = ln (dens P k x / dens Q k x)).
  { induction k as [|k IH]; cbn [dens loss_sum]; [repeat split; try lra; replace (1 / 1) with 1 by field; now rewrite ln_1|].
    destruct (IH (snd x)) as [A [B E]]. destruct (pair_pos o q m Hq (fst x)) as [PP QP]. fold P in PP. fold Q in QP. split; [now apply Rmult_lt_0_compat|]. split; [now apply Rmult_lt_0_compat|].
    rewrite E. unfold L, loss. fold P Q. rewrite <- ln_mult by now apply Rdiv_lt_0_compat. f_equal. field. lra. }
  destruct G as [A [B ->]]. assert (K := HockeyStick.scale_loss eps _ _ 1 1 A B). now rewrite !Rmult_1_r in K. Qed.
(* delta of k steps, and what the line says of it *)
Theorem line_sampled_gaussian k eps c r r' X m0 B : 0 < r' < c -> c < r -> 0 < X -> (0 < m0)%nat ->
  exists (D : R) (M : R -> C) (Mr Mr' : R),
  is_int (many line k) (fun x => pos (dens P k x - exp eps * dens Q k x)) D /\ (forall v, transform_int line P L (c, v) (M v)) /\
  is_line (fun x => P x * exp (r * L x)) Mr /\ is_line (fun x => P x * exp (r' * L x)) Mr' /\
  ((forall n, (m0 <= n)%nat -> Cmod (cpow (M (freq X (Datatypes.S n))) k) <= B) ->
  let G n := Re (integrand (cpow (M (freq X n)) k) eps (c, freq X n)) in let T := / X * (G O + 2 * add (fun n => G (Datatypes.S n)) m0) in
  let tail := exp (- (c * eps)) * B / (PI * freq X m0) in let ratio d := exp (- (d * X)) / (1 - exp (- (d * X))) in
  T - tail - (Chernoff.C r * (exp (- (r * eps)) * Mr ^ k) * ratio (r - c) + Chernoff.C r' * (exp (- (r' * eps)) * Mr' ^ k) * ratio (c - r')) <= D <= T + tail).
Proof. intros Hr' Hr HX HM. destruct (gaussian_moment c ltac:(lra)) as [Mc IC]. destruct (gaussian_moment r ltac:(lra)) as [Mr IR]. destruct (gaussian_moment r' ltac:(lra)) as [Mr' IR'].
  destruct (many_means k near_unit (fun a => w eps (loss_sum L k (snd a)))) as [F [_ [_ F2]]].
  { apply (cont_comp _ (near_vec k) near_R snd (fun x => w eps (loss_sum L k x))); [apply cont_snd with (M := near_unit), cont_id|].
    apply (cont_lip (near_vec k) (loss_sum L k) (w eps) 1); [lra|apply w_near|apply loss_sum_cont]. }
  { intros z. split; [apply w_ge0|apply w_le1]. }
  specialize (F2 tt). cbn [snd] in F2. set (M := fun v : R => ((line_value (fun x => P x * (exp (c * L x) * cos (v * L x))), line_value (fun x => P x * (exp (c * L x) * sin (v * L x)))) : C)).
  assert (IM : forall v, transform_int line P L (c, v) (M v)).
  { intros v. destruct (gaussian_transform c v ltac:(lra)) as [[a b] [I1 I2]]. cbn [fst snd] in I1, I2. unfold M. rewrite (line_lim _ _ I1), (line_lim _ _ I2). split; assumption. }
  exists (F tt), M, Mr, Mr'. split; [|split; [exact IM|split; [exact IR|split; [exact IR'|]]]].
  - eapply int_ext; [|exact F2]. intros x. apply loss_stick.
  - intros HB. apply (line_independent line P L (fun x => Rlt_le _ _ (proj1 (pair_pos o q m Hq x))) k eps c r r' X m0 Mc Mr Mr' (F tt) B M); auto. Qed.
End Gaussian.
