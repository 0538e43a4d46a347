(* 13. The limit that GaussianDigits.is_delta speaks of exists: delta_1..delta_5 are not vacuous. *)
Require Import Reals Lra.
From Coquelicot Require Import Coquelicot.
From VerifiedDP Require Import GaussianDigits.
Open Scope R_scope.
Lemma xg_int' M T : is_RInt (fun x => x * g x) M T (g M - g T).
Proof. replace (g M - g T) with (minus (- g T) (- g M)) by (unfold minus, plus, opp; simpl; ring).
  apply (is_RInt_derive (fun x => - g x) (fun x => x * g x)); intros x _.
  - unfold g; auto_derive; auto. replace (- (x * (x * 1)) * / 2) with (- x ^ 2 / 2) by (simpl; field). field.
  - apply (ex_derive_continuous (fun x => x * g x)); unfold g; auto_derive; auto. Qed.
Lemma tail_at M T : 1 <= M <= T -> 0 <= RInt g M T <= g M.
Proof. intros H; split.
  - apply RInt_ge_0; auto using g_ex; try lra. intros; unfold g; left; apply exp_pos.
  - apply Rle_trans with (g M - g T); [|assert (0 < g T) by apply exp_pos; lra].
    rewrite <- (is_RInt_unique _ _ _ _ (xg_int' M T)). apply RInt_le; auto using g_ex; try lra.
    + eexists; apply xg_int'.
    + intros x Hx. rewrite <- (Rmult_1_l (g x)) at 1. apply Rmult_le_compat_r; [unfold g; left; apply exp_pos|lra]. Qed.
Lemma g_small e : 0 < e -> exists M, 1 <= M /\ forall x, M <= x -> g x < e.
Proof. intros He. exists (Rmax 1 (1 - 2 * ln e)). split; [apply Rmax_l|]. intros x Hx.
  assert (1 <= x) by (eapply Rle_trans; [apply Rmax_l|exact Hx]). assert (1 - 2 * ln e <= x) by (eapply Rle_trans; [apply Rmax_r|exact Hx]).
  rewrite <- (exp_ln e He). unfold g. apply exp_increasing. simpl. nra. Qed.
Lemma lim_g a : exists y : R, is_lim (fun T => RInt g a T) p_infty y.
Proof. destruct (proj1 (filterlim_locally_cauchy (F := Rbar_locally p_infty) (fun T => RInt g a T))) as [y Hy].
  - intros e. destruct (g_small e (cond_pos e)) as [M [M1 HM]]. exists (fun x => M < x). split; [now exists M|].
    assert (K : forall u v, M < u -> u <= v -> Rabs (RInt g a v - RInt g a u) < e).
    { intros u v Hu Hv. assert (C := RInt_Chasles g a u v (g_ex a u) (g_ex u v)). change (RInt g a u + RInt g u v = RInt g a v) in C.
      replace (RInt g a v - RInt g a u) with (RInt g u v) by lra.
      destruct (tail_at u v ltac:(lra)) as [T1 T2]. rewrite Rabs_pos_eq by auto. specialize (HM u (Rlt_le _ _ Hu)). lra. }
    intros u v Hu Hv. unfold ball; simpl; unfold AbsRing_ball, abs, minus, plus, opp; simpl.
    destruct (Rle_dec u v) as [L|L]; [now apply K|].
    replace (RInt g a v + - RInt g a u) with (- (RInt g a u - RInt g a v)) by ring. rewrite Rabs_Ropp. apply K; lra.
  - exists y. exact Hy. Qed.
Theorem delta_exists sigma eps : exists d : R, is_delta sigma eps d.
Proof. destruct (lim_g (eps * sigma - 1 / (2 * sigma))) as [x Hx]. destruct (lim_g (eps * sigma + 1 / (2 * sigma))) as [y Hy].
  exists ((x - exp eps * y) / sqrt (2 * PI)). unfold is_delta, delta_up_to.
  apply (is_lim_scal_r _ (/ sqrt (2 * PI)) p_infty (x - exp eps * y)).
  apply (is_lim_minus' _ _ p_infty x (exp eps * y)); auto.
  apply (is_lim_scal_l _ (exp eps) p_infty y); auto. Qed.
