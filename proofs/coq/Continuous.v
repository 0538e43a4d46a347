(* 9b. Composition of ANY loss law (a positive functional J on a cone of nice functions, and a mass at infinity)
   that a finite law B dominates is dominated by the k-fold finite law.  No Fubini theorem is needed: one of the two
   laws is always finite, so exchanging the order is linearity. *)
Require Import Reals List Lra Lia ZArith.
From VerifiedDP Require Import Law Checker Link Extract.
Import ListNotations.
Open Scope R_scope.

(* the cone: nondecreasing, nonnegative, bounded and Lipschitz (so continuous: Riemann and Lebesgue integrals apply) *)
Definition cone (f : R -> R) := exists M, 0 <= M /\ (forall z, 0 <= f z <= M) /\ (forall x y, x <= y -> 0 <= f y - f x <= M * (y - x)).
Record integral := {
  J : (R -> R) -> R;
  J_plus : forall f g, cone f -> cone g -> J (fun z => f z + g z) = J f + J g;
  J_scal : forall c f, 0 <= c -> cone f -> J (fun z => c * f z) = c * J f;
  J_le : forall f g, cone f -> cone g -> (forall z, f z <= g z) -> J f <= J g }.

Lemma J_ext (A : integral) f g : cone f -> cone g -> (forall z, f z = g z) -> J A f = J A g.
Proof. intros F G H. apply Rle_antisym; apply J_le; auto; intros z; rewrite H; lra. Qed.
Lemma cone_plus f g : cone f -> cone g -> cone (fun z => f z + g z).
Proof. intros [M [M0 [F1 F2]]] [N [N0 [G1 G2]]]. exists (M + N); split; [lra|split].
  - intros z. specialize (F1 z); specialize (G1 z); lra.
  - intros x y H. specialize (F2 x y H); specialize (G2 x y H). rewrite Rmult_plus_distr_r. lra. Qed.
Lemma cone_scal c f : 0 <= c -> cone f -> cone (fun z => c * f z).
Proof. intros Hc [M [M0 [F1 F2]]]. exists (c * M); split; [now apply Rmult_le_pos|split].
  - intros z. specialize (F1 z). split; [apply Rmult_le_pos|apply Rmult_le_compat_l]; lra.
  - intros x y H. specialize (F2 x y H). rewrite <- Rmult_minus_distr_l, Rmult_assoc.
    split; [apply Rmult_le_pos|apply Rmult_le_compat_l]; lra. Qed.
Lemma cone_const c : 0 <= c -> cone (fun _ => c).
Proof. intros Hc. exists c; split; [auto|split]; [intros; lra|]. intros x y H.
  assert (0 <= c * (y - x)) by (apply Rmult_le_pos; lra). lra. Qed.
Lemma cone_w e : cone (w e).
Proof. exists 1; split; [lra|split].
  - intros z; split; [apply w_ge0|apply w_le1].
  - intros x y H. split; [generalize (w_mono e x y H); lra|]. rewrite Rmult_1_l.
    assert (Z0 : forall t, t <= e -> w e t = 0).
    { intros t Ht. unfold w. apply pos_of_neg. assert (K : exp 0 <= exp (e - t)) by (apply exp_le; lra). rewrite exp_0 in K; lra. }
    destruct (Rle_dec y e) as [Y|Y].
    + rewrite !Z0 by lra. lra.
    + assert (G : forall a b, a <= b -> e <= a -> w e b - w e a <= b - a).
      { intros a b AB EA. unfold w. rewrite !pos_of_pos.
        - assert (X : 1 + (a - b) <= exp (a - b)) by (destruct (Req_dec (a - b) 0) as [W|W]; [rewrite W, exp_0; lra|left; now apply exp_ineq1]). assert (Y1 : exp (e - b) = exp (e - a) * exp (a - b)) by (rewrite <- exp_plus; f_equal; ring).
          rewrite Y1. assert (exp (e - a) <= 1) by (rewrite <- exp_0; apply exp_le; lra). assert (0 < exp (e - a)) by apply exp_pos.
          assert (exp (a - b) <= 1) by (rewrite <- exp_0; apply exp_le; lra). nra.
        - assert (exp (e - a) <= exp 0) by (apply exp_le; lra). rewrite exp_0 in *; lra.
        - assert (exp (e - b) <= exp 0) by (apply exp_le; lra). rewrite exp_0 in *; lra. }
      destruct (Rle_dec e x) as [X|X]; [apply G; lra|].
      specialize (G e y ltac:(lra) ltac:(lra)).
      assert (E1 := Z0 e (Rle_refl e)). assert (E2 := Z0 x ltac:(lra)).
      lra. Qed.
Lemma w_swap e z y : w (e - z) y = w (e - y) z.
Proof. unfold w. do 3 f_equal; ring. Qed.

(* a finite sum and an integral may be exchanged *)
Lemma exchange (A : integral) e l : nn l ->
  cone (fun z => E (w (e - z)) l) /\ J A (fun z => E (w (e - z)) l) = E (fun y => J A (w (e - y))) l.
Proof. intros H; induction H as [|a l Ha H [IC IH]]; simpl.
  - split; [apply cone_const; lra|].
    assert (K1 : cone (fun _ => 1)) by (apply cone_const; lra). assert (K0 : cone (fun _ => 0)) by (apply cone_const; lra).
    assert (Z := J_scal A 0 (fun _ => 1) (Rle_refl 0) K1). rewrite Rmult_0_l in Z. transitivity (J A (fun _ => 0 * 1)); [|exact Z].
    apply J_ext; [exact K0|apply (cone_scal 0 (fun _ => 1)); [lra|auto]|intros; ring].
  - assert (C1 : cone (fun z => snd a * w (e - fst a) z)) by (apply cone_scal; [auto|apply cone_w]).
    assert (C2 : cone (fun z => snd a * w (e - fst a) z + E (w (e - z)) l)) by now apply cone_plus.
    assert (X : forall z, snd a * w (e - z) (fst a) + E (w (e - z)) l = snd a * w (e - fst a) z + E (w (e - z)) l) by (intros; now rewrite w_swap).
    assert (C3 : cone (fun z => snd a * w (e - z) (fst a) + E (w (e - z)) l)).
    { destruct C2 as [M [M0 [F1 F2]]]. exists M; split; [auto|split; intros]; rewrite !X; auto. }
    split; auto. rewrite (J_ext A _ _ C3 C2 X), J_plus, J_scal, IH; auto. apply cone_w. Qed.

(* ---------- the loss law of one step: (A, i), total mass t; its k-fold composition ---------- *)
Section Compose.
Variables (A : integral) (i : R).
Hypothesis Hi : 0 <= i.
Definition mass := i + J A (fun _ => 1).
(* delta of k steps: condition on the first loss *)
Fixpoint D (k : nat) (e : R) : R :=
  match k with O => w e 0 | S k => i * mass ^ k + J A (fun z => D k (e - z)) end.
Variable B : law.
Hypothesis HB : nonneg B.
Hypothesis one_step : forall e, i + J A (w e) <= delta e B.
Hypothesis one_mass : mass <= tot B.

Lemma J1 : 0 <= J A (fun _ => 1).
Proof. assert (J A (fun _ => 0 * 1) = 0) by (rewrite (J_scal A 0 (fun _ => 1)); [ring|lra|apply cone_const; lra]).
  rewrite <- H. apply J_le; try (apply cone_const; lra). intros; lra. Qed.
Lemma mass_ge0 : 0 <= mass. Proof. unfold mass. generalize J1; lra. Qed.
Lemma mass_pow k : mass ^ k <= tot (kfold k B).
Proof. induction k as [|k IH]; simpl; [unfold tot, one; simpl; lra|]. rewrite tot_conv.
  apply Rmult_le_compat; auto using mass_ge0. apply pow_le, mass_ge0. Qed.

Lemma D_regular k : exists M, 0 <= M /\ (forall e, 0 <= D k e <= M) /\ (forall a b, a <= b -> 0 <= D k a - D k b <= M * (b - a)).
Proof. induction k as [|k [M [M0 [R1 R2]]]]; cbn [D].
  - destruct (cone_w 0) as [M [M0 [C1 C2]]]. assert (X : forall e, w e 0 = w 0 (- e)) by (intros e; unfold w; do 3 f_equal; ring).
    exists M; split; [auto|split].
    + intros e; rewrite X; auto.
    + intros a b H. rewrite !X. specialize (C2 (- b) (- a) ltac:(lra)). replace (- a - - b) with (b - a) in C2 by ring. auto.
  - assert (CN : forall c, 0 <= c -> cone (fun _ : R => c)) by (intros; now apply cone_const).
    assert (CD : forall e, cone (fun z => D k (e - z))).
    { intros e. exists M; split; [auto|split]; [intros; auto|]. intros x y H. specialize (R2 (e - y) (e - x) ltac:(lra)).
      replace (e - x - (e - y)) with (y - x) in R2 by ring. auto. }
    assert (JC : forall c, 0 <= c -> J A (fun _ => c) = c * J A (fun _ => 1)).
    { intros c Hc. rewrite <- (J_scal A c (fun _ => 1)) by (auto; apply CN; lra).
      apply J_ext; [now apply CN| |intros; ring]. apply cone_scal; [auto|apply CN; lra]. }
    assert (P1 := J1). assert (Q : 0 <= i * mass ^ k) by (apply Rmult_le_pos; [auto|apply pow_le, mass_ge0]).
    assert (Q2 : 0 <= M * J A (fun _ => 1)) by now apply Rmult_le_pos.
    assert (GE : forall e, 0 <= J A (fun z => D k (e - z)) <= M * J A (fun _ => 1)).
    { intros e; split; [rewrite <- (Rmult_0_l (J A (fun _ => 1))), <- (JC 0) by lra|rewrite <- (JC M) by auto]; apply J_le; auto;
        try (apply CN; lra); intros z; apply R1. }
    exists (i * mass ^ k + M * J A (fun _ => 1)); split; [lra|split].
    + intros e; specialize (GE e); lra.
    + intros a b H. assert (MB : 0 <= M * (b - a)) by (apply Rmult_le_pos; lra).
      assert (U : J A (fun z => D k (b - z)) <= J A (fun z => D k (a - z))).
      { apply J_le; auto. intros z. specialize (R2 (a - z) (b - z) ltac:(lra)). lra. }
      assert (V : J A (fun z => D k (a - z)) <= J A (fun z => D k (b - z) + M * (b - a))).
      { apply J_le; auto; [apply (cone_plus (fun z => D k (b - z)) (fun _ => M * (b - a))); auto|]. intros z.
        specialize (R2 (a - z) (b - z) ltac:(lra)). replace (b - z - (a - z)) with (b - a) in R2 by ring. lra. }
      rewrite (J_plus A (fun z => D k (b - z)) (fun _ => M * (b - a))) in V by auto. rewrite (JC (M * (b - a)) MB) in V.
      assert (W : 0 <= i * mass ^ k * (b - a)) by (apply Rmult_le_pos; lra). nra. Qed.
Lemma cone_D k e : cone (fun z => D k (e - z)).
Proof. destruct (D_regular k) as [M [M0 [R1 R2]]]. exists M; split; [auto|split]; [intros; auto|]. intros x y H.
  specialize (R2 (e - y) (e - x) ltac:(lra)). replace (e - x - (e - y)) with (y - x) in R2 by ring. auto. Qed.

Theorem continuous_kfold k : forall e, D k e <= delta e (kfold k B).
Proof. induction k as [|k IH]; intros e; cbn [D kfold].
  - unfold delta; simpl. rewrite Rmult_1_l. lra.
  - rewrite delta_conv_comm, delta_conv. set (C := kfold k B). destruct (nonneg_kfold k B HB) as [NC IC]. fold C in NC, IC.
    destruct (exchange A e (fst C) NC) as [CE EX].
    assert (CC : cone (fun z => snd C + E (w (e - z)) (fst C))) by (apply cone_plus; [now apply cone_const|auto]).
    apply Rle_trans with (i * tot C + J A (fun z => snd C + E (w (e - z)) (fst C))).
    + apply Rplus_le_compat; [apply Rmult_le_compat_l; [auto|apply mass_pow]|]. apply J_le; [apply cone_D|exact CC|intros z; apply IH].
    + rewrite (J_plus A (fun _ => snd C)), EX by (auto using cone_const).
      assert (JS : J A (fun _ => snd C) = snd C * J A (fun _ => 1)).
      { rewrite <- (J_scal A (snd C) (fun _ => 1)) by (auto; apply cone_const; lra).
        apply J_ext; try (intros; ring); [now apply cone_const|]. apply cone_scal; [auto|apply cone_const; lra]. }
      rewrite JS. unfold tot.
      replace (i * (snd C + E one (fst C)) + (snd C * J A (fun _ => 1) + E (fun y => J A (w (e - y))) (fst C)))
        with (snd C * mass + E (fun y => i + J A (w (e - y))) (fst C)) by (rewrite E_plus, E_const; unfold mass; ring).
      apply Rplus_le_compat; [apply Rmult_le_compat_l; auto|]. apply E_le; auto. Qed.

(* an accepted problem whose one-step law dominates (A, i) bounds the composition of (A, i) *)
Theorem accepted_continuous p : B = law_of (grid_step p) (unit_of p) (step_law p) ->
  accept_N p = true -> direction p = Above ->
  D (Z.to_nat (count p)) (epsilon_of p) <= IZR (bound p) / unit_of p.
Proof. intros HBp HA Hd. eapply Rle_trans; [apply continuous_kfold|]. rewrite HBp. now apply accepted_above. Qed.
End Compose.
