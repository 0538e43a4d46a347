(* 19. The Gaussian mechanism's delta at five points, by CoqInterval: an arithmetic of its own.

   delta(eps; sigma) = P(Z > a) - e^eps P(Z > b),  a, b = eps sigma -+ 1/(2 sigma),  Z standard normal.
   The integrals up to 8 are enclosed by verified quadrature; what is beyond is at most e^-32, by an
   antiderivative.  The limit exists (delta_exists).  A test of the project compares its own digits with these. *)
Require Import Reals Lra.
From Coquelicot Require Import Coquelicot.
From Interval Require Import Tactic.
From VerifiedDP Require Import Normal.
Open Scope R_scope.

Definition delta_up_to (sigma eps T : R) :=
  (RInt g (eps * sigma - 1 / (2 * sigma)) T - exp eps * RInt g (eps * sigma + 1 / (2 * sigma)) T) / sqrt (2 * PI).
(* d is delta(eps; sigma) *)
Definition is_delta (sigma eps d : R) := is_lim (delta_up_to sigma eps) p_infty d.

Lemma tail T : 8 <= T -> 0 <= RInt g 8 T <= exp (-32).
Proof. intros HT. replace (exp (-32)) with (g 8) by (unfold g; f_equal; field). apply tail_at; lra. Qed.
Lemma lim_g a : is_lim (fun T => RInt g a T) p_infty (half - area a).
Proof. apply is_lim_spec. intros e. destruct (g_small e (cond_pos e)) as [M [M1 HM]]. exists M. intros x Hx.
  rewrite area_chasles. assert (A := area_half x). assert (B := half_area x ltac:(lra)). specialize (HM x ltac:(lra)).
  apply Rabs_lt_between. lra. Qed.
Theorem delta_exists sigma eps : exists d : R, is_delta sigma eps d.
Proof. set (x := half - area (eps * sigma - 1 / (2 * sigma))). set (y := half - area (eps * sigma + 1 / (2 * sigma))).
  exists ((x - exp eps * y) / sqrt (2 * PI)). unfold is_delta, delta_up_to.
  apply (is_lim_scal_r _ (/ sqrt (2 * PI)) p_infty (x - exp eps * y)).
  apply (is_lim_minus' _ _ p_infty x (exp eps * y)); [apply lim_g|].
  apply (is_lim_scal_l _ (exp eps) p_infty y), lim_g. Qed.

Lemma within sigma eps v r :
  (forall t, 0 <= t <= exp (-32) ->
     Rabs ((RInt g (eps * sigma - 1 / (2 * sigma)) 8 + t
            - exp eps * (RInt g (eps * sigma + 1 / (2 * sigma)) 8 + t)) / sqrt (2 * PI) - v) <= r) ->
  forall d, is_delta sigma eps d -> Rabs (d - v) <= r.
Proof. intros H d Hd.
  assert (G : Rbar_locally p_infty (fun T => v - r <= delta_up_to sigma eps T <= v + r)).
  { exists 8; intros T HT. unfold delta_up_to.
    rewrite <- (RInt_Chasles g (eps * sigma - 1 / (2 * sigma)) 8 T) by apply g_ex.
    rewrite <- (RInt_Chasles g (eps * sigma + 1 / (2 * sigma)) 8 T) by apply g_ex.
    unfold plus; simpl. specialize (H (RInt g 8 T) (tail T (Rlt_le _ _ HT))).
    apply Rabs_le_between in H. lra. }
  apply Rabs_le_between.
  assert (L : Rbar_le (v - r) d).
  { apply (is_lim_le_loc (fun _ => v - r) (delta_up_to sigma eps) p_infty); auto using is_lim_const.
    destruct G as [M G]; exists M; intros; apply G; auto. }
  assert (U : Rbar_le d (v + r)).
  { apply (is_lim_le_loc (delta_up_to sigma eps) (fun _ => v + r) p_infty); auto using is_lim_const.
    destruct G as [M G]; exists M; intros; apply G; auto. }
  simpl in L, U. lra. Qed.

Ltac digits a b :=
  apply within; intros t Ht; unfold g;
  let H := fresh in let K := fresh in
  integral_intro (RInt (fun x => exp (- (x ^ 2) / 2)) a 8) with (i_relwidth 36, i_prec 52, i_degree 15) as H;
  integral_intro (RInt (fun x => exp (- (x ^ 2) / 2)) b 8) with (i_relwidth 36, i_prec 52, i_degree 15) as K;
  interval with (i_prec 60).

Theorem delta_1 d : is_delta 1 1 d -> Rabs (d - 0.12693673751) <= 1e-10.
Proof. revert d. digits (1 * 1 - 1 / (2 * 1)) (1 * 1 + 1 / (2 * 1)). Qed.
Theorem delta_2 d : is_delta 2 (1/2) d -> Rabs (d - 0.05244032329) <= 1e-10.
Proof. revert d. digits ((1/2) * 2 - 1 / (2 * 2)) ((1/2) * 2 + 1 / (2 * 2)). Qed.
Theorem delta_3 d : is_delta (1/2) 4 d -> Rabs (d - 0.08495331867) <= 1e-10.
Proof. revert d. digits (4 * (1/2) - 1 / (2 * (1/2))) (4 * (1/2) + 1 / (2 * (1/2))). Qed.
Theorem delta_4 d : is_delta 4 (1/4) d -> Rabs (d - 0.02348548119) <= 1e-10.
Proof. revert d. digits ((1/4) * 4 - 1 / (2 * 4)) ((1/4) * 4 + 1 / (2 * 4)). Qed.
Theorem delta_5 d : is_delta 3 1 d -> Rabs (d - 0.00020751220) <= 1e-10.
Proof. revert d. digits (1 * 3 - 1 / (2 * 3)) (1 * 3 + 1 / (2 * 3)). Qed.
