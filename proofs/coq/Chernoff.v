(* 3. Moments bound delta: the sharp Chernoff bound.

   (1 - e^-x)_+ <= e^(l x) C(l), C(l) = l^l / (1+l)^(1+l), with equality at x = ln ((1+l)/l); hence
   delta eps <= C(l) M(l) e^(-l eps), and moments multiply under composition. *)
Require Import Reals List Lra.
From VerifiedDP Require Import Law.
Import ListNotations.
Open Scope R_scope.

Definition C (l : R) := Rpower l l / Rpower (1 + l) (1 + l).
Lemma C_pos l : 0 < C l.
Proof. unfold C; apply Rdiv_lt_0_compat; apply exp_pos. Qed.
Lemma C_exp l : C l = exp (l * ln l - (1 + l) * ln (1 + l)).
Proof. unfold C, Rpower, Rdiv. rewrite <- exp_Ropp, <- exp_plus. f_equal. Qed.
Lemma ln_le_sub1 u : 0 < u -> ln u <= u - 1.
Proof. intros Hu. generalize (exp_ineq1_le (ln u)); rewrite exp_ln; lra. Qed.

Theorem sharp l x : 0 < l -> Rmax 0 (1 - exp (- x)) <= exp (l * x) * C l.
Proof. intros Hl. apply Rmax_lub.
  { left; apply Rmult_lt_0_compat; [apply exp_pos|apply C_pos]. }
  set (t := exp (- x)). assert (Ht : 0 < t) by apply exp_pos.
  destruct (Rle_lt_dec 1 t) as [H|H].
  { apply Rle_trans with 0; [lra|]. left; apply Rmult_lt_0_compat; [apply exp_pos|apply C_pos]. }
  assert (Lt : ln t = - x) by (unfold t; apply ln_exp).
  rewrite C_exp, <- exp_plus. rewrite <- (exp_ln (1 - t)) by lra. apply exp_le.
  assert (A1 := ln_le_sub1 ((1 - t) * (1 + l)) ltac:(apply Rmult_lt_0_compat; lra)).
  rewrite ln_mult in A1 by lra.
  assert (Hlt : 0 < t * (1 + l) * / l).
  { apply Rmult_lt_0_compat; [apply Rmult_lt_0_compat; lra|now apply Rinv_0_lt_compat]. }
  assert (A2 := ln_le_sub1 _ Hlt).
  rewrite !ln_mult, ln_Rinv, Lt in A2; try lra;
    [|apply Rmult_lt_0_compat; lra|now apply Rinv_0_lt_compat].
  assert (A3 : l * (- x + ln (1 + l) + - ln l) <= l * (t * (1 + l) * / l - 1)) by (apply Rmult_le_compat_l; lra).
  replace (l * (t * (1 + l) * / l - 1)) with (t * (1 + l) - l) in A3 by (field; lra).
  lra. Qed.
(* sharpness: equality at x = ln ((1+l)/l) *)
Theorem sharp_eq l : 0 < l -> let x := ln ((1 + l) / l) in 1 - exp (- x) = exp (l * x) * C l.
Proof. intros Hl x. assert (X : x = ln (1 + l) - ln l).
  { unfold x, Rdiv; rewrite ln_mult, ln_Rinv; try lra. now apply Rinv_0_lt_compat. }
  rewrite C_exp, <- exp_plus, X.
  replace (l * (ln (1 + l) - ln l) + (l * ln l - (1 + l) * ln (1 + l))) with (- ln (1 + l)) by ring.
  replace (- (ln (1 + l) - ln l)) with (ln l + - ln (1 + l)) by ring.
  rewrite exp_plus, !exp_Ropp, !exp_ln by lra. field; lra. Qed.

Definition M (l : R) (A : list (R * R)) := E (fun z => exp (l * z)) A.
Theorem delta_chernoff l eps A i : 0 < l -> nn A ->
  delta eps (A, i) <= i + C l * M l A * exp (- l * eps).
Proof. intros Hl HA. unfold delta; simpl. apply Rplus_le_compat_l. unfold M.
  replace (C l * E (fun z => exp (l * z)) A * exp (- l * eps))
    with (E (fun z => (C l * exp (- l * eps)) * exp (l * z)) A) by (rewrite E_scal; ring).
  apply E_le; auto. intros z. unfold w, pos.
  replace (eps - z) with (- (z - eps)) by ring.
  eapply Rle_trans; [apply (sharp l); auto|].
  replace (l * (z - eps)) with (l * z + - l * eps) by ring. rewrite exp_plus. lra. Qed.
Lemma M_conv l A B : M l (conv_atoms A B) = M l A * M l B.
Proof. unfold M. rewrite E_conv.
  rewrite (E_ext _ (fun z => M l B * exp (l * z)) A).
  - rewrite E_scal; unfold M; ring.
  - intros z; unfold M. rewrite Rmult_comm, <- E_scal. apply E_ext; intros y.
    rewrite <- exp_plus; f_equal; ring. Qed.
Lemma M_kfold l k A : M l (fst (kfold k A)) = M l (fst A) ^ k.
Proof. induction k; simpl; [unfold M; simpl; rewrite Rmult_0_r, exp_0; ring|].
  now rewrite M_conv, IHk. Qed.
Theorem kfold_chernoff l eps k A : 0 < l -> nonneg A ->
  delta eps (kfold k A) <= snd (kfold k A) + C l * M l (fst A) ^ k * exp (- l * eps).
Proof. intros Hl HA. rewrite <- M_kfold.
  destruct (kfold k A) as [a i] eqn:Ek. apply delta_chernoff; auto.
  destruct (nonneg_kfold k A HA) as [H _]; rewrite Ek in H; exact H. Qed.
