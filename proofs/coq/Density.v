(* 11b. The integral of e^(-x^2/2) over the line is sqrt (2 pi), so that `normal` is the density that the textbooks have.

   With area t the integral from 0 to t and B t that of 2 e^(-t^2 (1+x^2)/2) / (1+x^2) over [0, 1]: area^2 + B has
   derivative 0, is 2 atan 1 at 0, and B vanishes at infinity.  Nothing in the other files rests on it. *)
Require Import Reals Lra.
From Coquelicot Require Import Coquelicot.
From VerifiedDP Require Import Law Integral Normal Space.
Open Scope R_scope.

Lemma xxg_bounded x : x ^ 2 * g x <= 2.
Proof. assert (P := exp_pos (x ^ 2 / 2)). assert (N : g x * exp (x ^ 2 / 2) = 1).
  { unfold g. rewrite <- exp_plus. replace (- x ^ 2 / 2 + x ^ 2 / 2) with 0 by field. apply exp_0. }
  assert (L : 1 + x ^ 2 / 2 <= exp (x ^ 2 / 2)).
  { destruct (Req_dec (x ^ 2 / 2) 0) as [Z|Z]; [rewrite Z, exp_0; lra|left; now apply exp_ineq1]. }
  assert (G := g_pos x). assert (x ^ 2 * g x <= 2 * exp (x ^ 2 / 2) * g x) by (apply Rmult_le_compat_r; lra). lra. Qed.
Lemma g_le1 x : g x <= 1.
Proof. unfold g. rewrite <- exp_0. apply exp_le. nra. Qed.
Lemma gx_derive x : is_derive (fun x => - x * g x) x ((x ^ 2 - 1) * g x).
Proof. unfold g. auto_derive; auto. replace (- (x * (x * 1)) * / 2) with (- x ^ 2 / 2) by (simpl; field). field. Qed.
Lemma gx_near x y : Rabs (- y * g y - - x * g x) <= 2 * Rabs (y - x).
Proof. destruct (MVT_gen (fun x => - x * g x) x y (fun x => (x ^ 2 - 1) * g x)) as [z [_ E]].
  - intros z _. apply gx_derive.
  - intros z _. apply continuity_pt_filterlim, (ex_derive_continuous (fun x => - x * g x)). eexists; apply gx_derive.
  - rewrite E, Rabs_mult. apply Rmult_le_compat_r; [apply Rabs_pos|]. assert (A := xxg_bounded z). assert (B := g_le1 z).
    assert (G := g_pos z). apply Rabs_le. split; nra. Qed.
Lemma g_near x h : Rabs (g (x + h) - g x + h * (x * g x)) <= 2 * h ^ 2.
Proof. destruct (MVT_gen g x (x + h) (fun x => - x * g x)) as [z [Hz E]].
  - intros z _. apply g_derive.
  - intros z _. apply continuity_pt_filterlim, g_cont.
  - rewrite E. replace (- z * g z * (x + h - x) + h * (x * g x)) with (h * (- z * g z - - x * g x)) by ring.
    rewrite Rabs_mult. assert (N := gx_near x z). assert (D : Rabs (z - x) <= Rabs h).
    { unfold Rabs, Rmin, Rmax in *. repeat destruct (Rcase_abs _) in *; repeat destruct (Rle_dec _ _) in *; lra. }
    assert (SQ : h ^ 2 = Rabs h * Rabs h) by (rewrite <- Rabs_mult, Rabs_pos_eq by nra; ring). rewrite SQ.
    assert (HP := Rabs_pos h). apply Rle_trans with (Rabs h * (2 * Rabs h)); [|lra]. apply Rmult_le_compat_l; lra. Qed.

Definition slice (t x : R) := 2 * (g t * g (t * x)) / (1 + x ^ 2).
Lemma slice_ex t : ex_RInt (slice t) 0 1.
Proof. apply (ex_RInt_continuous (slice t)). intros x _. apply (ex_derive_continuous (slice t)). unfold slice, g. auto_derive. nra. Qed.
Definition B t := RInt (slice t) 0 1.
(* e^(-t^2 (1+x^2)/2) = g (t k), k = sqrt (1 + x^2) *)
Lemma slice_near t h x : Rabs (slice (t + h) x - slice t x + h * (2 * g t * (t * g (t * x)))) <= 4 * h ^ 2.
Proof. set (k := sqrt (1 + x ^ 2)). assert (K : k * k = 1 + x ^ 2) by (apply sqrt_sqrt; nra). assert (K0 : 0 < 1 + x ^ 2) by nra.
  assert (P : forall s, g s * g (s * x) = g (s * k)).
  { intros s. unfold g. rewrite <- exp_plus. f_equal. replace ((s * k) ^ 2) with (s ^ 2 * (k * k)) by ring. rewrite K. field. }
  unfold slice. rewrite !P. replace (2 * g t * (t * g (t * x))) with (2 * t * (g t * g (t * x))) by ring. rewrite P.
  replace ((t + h) * k) with (t * k + h * k) by ring. assert (N := g_near (t * k) (h * k)).
  replace (2 * g (t * k + h * k) / (1 + x ^ 2) - 2 * g (t * k) / (1 + x ^ 2) + h * (2 * t * g (t * k)))
    with (2 * / (1 + x ^ 2) * (g (t * k + h * k) - g (t * k) + h * k * (t * k * g (t * k))))
    by (replace (h * k * (t * k * g (t * k))) with (h * t * g (t * k) * (k * k)) by ring; rewrite K; field; lra).
  assert (V := Rinv_0_lt_compat _ K0). rewrite Rabs_mult, Rabs_pos_eq by lra.
  replace (4 * h ^ 2) with (2 * / (1 + x ^ 2) * (2 * (h * k) ^ 2)); [apply Rmult_le_compat_l; lra|].
  replace ((h * k) ^ 2) with (h ^ 2 * (k * k)) by ring. rewrite K. field; lra. Qed.
Lemma scaled t : is_RInt (fun x => t * g (t * x)) 0 1 (area t).
Proof. assert (K := is_RInt_comp_lin g t 0 0 1 (RInt g (t * 0 + 0) (t * 1 + 0)) (RInt_correct g _ _ (g_ex _ _))).
  replace (t * 0 + 0) with 0 in K by ring. replace (t * 1 + 0) with t in K by ring.
  apply (is_RInt_ext (fun x => scal t (g (t * x + 0)))); [|exact K]. intros x _. unfold scal; simpl; unfold mult; simpl. now rewrite Rplus_0_r. Qed.
Lemma B_derive t : is_derive B t (- (2 * g t * area t)).
Proof. apply near_derive with 4. intros h.
  assert (I : is_RInt (fun x => slice (t + h) x - slice t x + h * (2 * g t * (t * g (t * x)))) 0 1
    (B (t + h) - B t + h * (2 * g t * area t))).
  { apply (is_RInt_plus (fun x => slice (t + h) x - slice t x) (fun x => h * (2 * g t * (t * g (t * x))))).
    - apply (is_RInt_minus (slice (t + h)) (slice t)); apply (RInt_correct (V := R_CompleteNormedModule)), slice_ex.
    - apply (is_RInt_scal (fun x => 2 * g t * (t * g (t * x))) 0 1 h), (is_RInt_scal (fun x => t * g (t * x)) 0 1 (2 * g t)), scaled. }
  replace (B (t + h) - B t - h * - (2 * g t * area t)) with (B (t + h) - B t + h * (2 * g t * area t)) by ring.
  rewrite <- (is_RInt_unique (V := R_CompleteNormedModule) _ _ _ _ I).
  assert (C : forall c : R, RInt (V := R_CompleteNormedModule) (fun _ : R => c) 0 1 = c).
  { intros c. rewrite RInt_const. unfold scal; simpl; unfold mult; simpl; ring. }
  apply Rabs_le. split.
  - rewrite <- (C (- (4 * h ^ 2))). apply RInt_le; [lra|apply ex_RInt_const|eexists; exact I|].
    intros x _. assert (N := slice_near t h x). apply Rabs_le_between in N. lra.
  - rewrite <- (C (4 * h ^ 2)). apply RInt_le; [lra|eexists; exact I|apply ex_RInt_const|].
    intros x _. assert (N := slice_near t h x). apply Rabs_le_between in N. lra. Qed.
Lemma area_derive t : is_derive area t (g t).
Proof. apply (is_derive_RInt g area 0 t); [|apply g_cont]. apply filter_forall. intros y. apply (RInt_correct g), g_ex. Qed.
Lemma B_0 : B 0 = PI / 2.
Proof. unfold B. replace (PI / 2) with (minus (2 * atan 1) (2 * atan 0)).
  - apply (is_RInt_unique (V := R_CompleteNormedModule)). apply (is_RInt_derive (fun x => 2 * atan x)).
    + intros x _. assert (G0 : g 0 = 1) by (unfold g; rewrite <- exp_0; f_equal; field).
      unfold slice. rewrite Rmult_0_l, G0. auto_derive; auto. field; nra.
    + intros x _. apply (ex_derive_continuous (slice 0)). unfold slice, g. auto_derive. nra.
  - rewrite atan_1, atan_0. unfold minus, plus, opp; simpl. field. Qed.
Lemma B_small t : 0 <= B t <= 2 * g t.
Proof. assert (C : forall c : R, RInt (V := R_CompleteNormedModule) (fun _ : R => c) 0 1 = c).
  { intros c. rewrite RInt_const. unfold scal; simpl; unfold mult; simpl; ring. }
  assert (P : forall x, 0 <= slice t x <= 2 * g t).
  { intros x. unfold slice. assert (G := g_pos t). assert (G1 := g_pos (t * x)). assert (G2 := g_le1 (t * x)).
    assert (K : 0 < 1 + x ^ 2) by nra. assert (V := Rinv_0_lt_compat _ K). assert (GG : 0 <= g t * g (t * x) <= g t) by (split; nra).
    split; [apply Rmult_le_pos; lra|]. apply Rmult_le_reg_r with (1 + x ^ 2); [auto|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. nra. }
  split.
  - rewrite <- (C 0). apply RInt_le; [lra|apply ex_RInt_const|apply slice_ex|]. intros x _. apply P.
  - rewrite <- (C (2 * g t)). apply RInt_le; [lra|apply slice_ex|apply ex_RInt_const|]. intros x _. apply P. Qed.
Theorem half_square : half * half = PI / 2.
Proof. assert (S : forall t, area t * area t + B t = PI / 2).
  { intros t. rewrite (flat (fun t => area t * area t + B t)).
    - rewrite B_0. unfold area. rewrite (RInt_point 0 g). unfold zero; simpl; ring.
    - intros s. replace 0 with (g s * area s + area s * g s + - (2 * g s * area s)) by ring.
      apply (is_derive_plus (fun t => area t * area t) B); [|apply B_derive].
      apply (is_derive_mult area area s (g s) (g s)); [apply area_derive|apply area_derive|]. intros; apply Rmult_comm. }
  assert (H := half_pos). assert (A0 : forall t, 0 <= t -> 0 <= area t).
  { intros t Ht. assert (K := area_grows 0 t Ht). unfold area in K at 1. rewrite (RInt_point 0 g) in K. exact K. }
  apply Rle_antisym; apply close_unique; intros e He.
  - destruct (g_small (e / (2 * half + 1))) as [t [T1 TG]]; [apply Rdiv_lt_0_compat; lra|]. specialize (TG t (Rle_refl t)).
    assert (GE : (2 * half + 1) * g t <= e).
    { apply (Rmult_lt_compat_l (2 * half + 1)) in TG; [|lra]. replace ((2 * half + 1) * (e / (2 * half + 1))) with e in TG by (field; lra). lra. }
    assert (U := half_area t T1). assert (L := area_half t). assert (A := A0 t ltac:(lra)). assert (G := g_pos t). assert (G1 := g_le1 t).
    assert (BS := B_small t). specialize (S t).
    assert (half * half <= (area t + g t) * (area t + g t)) by (apply Rmult_le_compat; lra).
    assert (area t * g t <= half * g t) by (apply Rmult_le_compat_r; lra). assert (g t * g t <= 1 * g t) by (apply Rmult_le_compat_r; lra). lra.
  - destruct (g_small (e / 2)) as [t [T1 TG]]; [lra|]. specialize (TG t (Rle_refl t)).
    assert (L := area_half t). assert (A := A0 t ltac:(lra)). assert (BS := B_small t). specialize (S t).
    assert (area t * area t <= half * half) by (apply Rmult_le_compat; lra). lra. Qed.
Theorem normal_formula sigma c x : 0 < sigma -> normal sigma c x = exp (- ((x - c) / sigma) ^ 2 / 2) / (sigma * sqrt (2 * PI)).
Proof. intros Hs. assert (H := half_pos). assert (HS := half_square). assert (Q : sqrt (2 * PI) = 2 * half).
  { replace (2 * PI) with ((2 * half) * (2 * half)) by lra. apply sqrt_square. lra. }
  rewrite Q. unfold normal, std, g. field. split; lra. Qed.
