(* 12. The Gaussian mechanism's delta at five points, by CoqInterval: an arithmetic of its own.

   delta(eps; sigma) = P(Z > a) - e^eps P(Z > b),  a, b = eps sigma -+ 1/(2 sigma),  Z standard normal.
   The integrals up to 8 are enclosed by verified quadrature; what is beyond is at most e^-32, by an
   antiderivative.  A test of the project compares its own digits with these. *)
Require Import Reals Lra.
From Coquelicot Require Import Coquelicot.
From Interval Require Import Tactic.
Open Scope R_scope.

Definition g (x : R) := exp (- (x ^ 2) / 2).
Definition delta_up_to (sigma eps T : R) :=
  (RInt g (eps * sigma - 1 / (2 * sigma)) T - exp eps * RInt g (eps * sigma + 1 / (2 * sigma)) T) / sqrt (2 * PI).
(* d is delta(eps; sigma) *)
Definition is_delta (sigma eps d : R) := is_lim (delta_up_to sigma eps) p_infty d.

Lemma g_cont x : continuous g x.
Proof. apply (ex_derive_continuous g); unfold g; auto_derive; auto. Qed.
Lemma g_ex a b : ex_RInt g a b.
Proof. apply (ex_RInt_continuous g); intros; apply g_cont. Qed.
Lemma xg_int T : is_RInt (fun x => x * g x) 8 T (g 8 - g T).
Proof. replace (g 8 - g T) with (minus (- g T) (- g 8)) by (unfold minus, plus, opp; simpl; ring).
  apply (is_RInt_derive (fun x => - g x) (fun x => x * g x)); intros x _.
  - unfold g; auto_derive; auto. replace (- (x * (x * 1)) * / 2) with (- x ^ 2 / 2) by (simpl; field). field.
  - apply (ex_derive_continuous (fun x => x * g x)); unfold g; auto_derive; auto. Qed.
Lemma tail T : 8 <= T -> 0 <= RInt g 8 T <= exp (-32).
Proof. intros HT; split.
  - apply RInt_ge_0; auto using g_ex. intros; unfold g; left; apply exp_pos.
  - apply Rle_trans with (g 8 - g T).
    + rewrite <- (is_RInt_unique _ _ _ _ (xg_int T)). apply RInt_le; auto using g_ex.
      * eexists; apply xg_int.
      * intros x Hx. rewrite <- (Rmult_1_l (g x)) at 1. apply Rmult_le_compat_r; [|lra].
        unfold g; left; apply exp_pos.
    + unfold g at 1. replace (- 8 ^ 2 / 2) with (-32) by field.
      assert (0 < g T) by apply exp_pos. lra. Qed.

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
