(* 16. Composition of ANY loss law (a positive functional J on a cone of nice functions, and a mass at infinity)
   that a finite law B dominates is dominated by the k-fold finite law.  No Fubini theorem is needed: one of the two
   laws is always finite, so exchanging the order is linearity. *)
Require Import Reals List Lra Lia ZArith.
From Coquelicot Require Import Coquelicot.
From VerifiedDP Require HockeyStick.
From VerifiedDP Require Import Law Checker Link Integral Normal SampledGaussian Extract.
Import ListNotations.
Open Scope R_scope.

(* the cone: nondecreasing, nonnegative, bounded and Lipschitz (so continuous: Riemann and Lebesgue integrals apply) *)
Definition cone (f : R -> R) := exists M, 0 <= M /\ (forall z, 0 <= f z <= M) /\ (forall x y, x <= y -> 0 <= f y - f x <= M * (y - x)).
Record functional := {
  J : (R -> R) -> R;
  J_plus : forall f g, cone f -> cone g -> J (fun z => f z + g z) = J f + J g;
  J_scal : forall c f, 0 <= c -> cone f -> J (fun z => c * f z) = c * J f;
  J_le : forall f g, cone f -> cone g -> (forall z, f z <= g z) -> J f <= J g }.

Lemma J_ext (A : functional) f g : cone f -> cone g -> (forall z, f z = g z) -> J A f = J A g.
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
Lemma exchange (A : functional) e l : nn l ->
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
Variables (A : functional) (i : R).
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

(* An accepted problem whose one-step law dominates (A, i) bounds the composition of (A, i). *)
Theorem accepted_continuous p k a : kinds p = [{| count := Zpos k; step_law := a |}] ->
  B = law_of (grid_step p) (unit_of p) a -> accept_N p = true -> direction p = Above ->
  D (Pos.to_nat k) (epsilon_of p) <= IZR (bound p) / unit_of p.
Proof. intros HK HBp HA Hd. eapply Rle_trans; [apply continuous_kfold|]. assert (K := accepted_above p HA Hd).
  unfold composed, steps_of in K. rewrite HK in K. cbn [laws_of flat_map count step_law Z.to_nat] in K.
  rewrite app_nil_r, compose_repeat in K. now rewrite HBp. Qed.
End Compose.

(* ---------- the sampled Gaussian's own loss law is such a functional ---------- *)
Section SampledGaussianLaw.
Variables (o : order) (q m : R).
Hypothesis Hq : 0 < q <= 1.
Hypothesis Hm : 0 < m.
Let P := pair_P o q m.
Let Q := pair_Q o q m.
(* the privacy loss of the output x *)
Definition loss (x : R) := ln (P x / Q x).
Lemma std_pos x : 0 < std x.
Proof. assert (H := half_pos). apply Rmult_lt_0_compat; [apply Rinv_0_lt_compat; lra|apply g_pos]. Qed.
Lemma pair_pos x : 0 < P x /\ 0 < Q x.
Proof. assert (A := std_pos x). assert (B := std_pos (x - m)).
  assert (C : 0 < mix q (shifted m) std x).
  { unfold mix, shifted. apply Rplus_le_lt_0_compat; [apply Rmult_le_pos; lra|apply Rmult_lt_0_compat; lra]. }
  unfold P, Q; destruct o; simpl; auto. Qed.
(* delta eps = E (1 - e^(eps - loss))_+ under P, and it is the curve of SampledGaussian.v *)
Theorem sampled_gaussian_delta eps : is_line (fun x => P x * w eps (loss x)) (curve o q m (exp eps)).
Proof. apply (line_ext (fun x => pos (P x - exp eps * Q x))).
  - intros x. destruct (pair_pos x) as [A B]. assert (K := HockeyStick.scale_loss eps (P x) (Q x) 1 1 A B).
    rewrite !Rmult_1_r in K. exact K.
  - apply curve_int; auto. left; apply exp_pos. Qed.

(* The same law as a functional on the cone. *)
Lemma loss_derive x : ex_derive P x /\ ex_derive Q x.
Proof. assert (A : ex_derive std x) by (unfold std, g; auto_derive; auto).
  assert (B : ex_derive (mix q (shifted m) std) x) by (unfold mix, shifted, std, g; auto_derive; auto).
  unfold P, Q; destruct o; simpl; auto. Qed.
Lemma cone_int f : cone f -> exists v, is_line (fun x => P x * f (loss x)) v.
Proof. intros [M [M0 [F1 F2]]]. apply (dominated_int _ P M); auto.
  - intros a b. apply (ex_RInt_continuous (fun x => P x * f (loss x))). intros x _. destruct (loss_derive x) as [DP DQ]. destruct (pair_pos x) as [PP QP].
    assert (CF : forall z, continuous f z).
    { intros z. apply continuity_pt_filterlim. intros e He. exists (e / (M + 1)). split; [apply Rdiv_lt_0_compat; lra|].
      intros y [_ Y]. simpl in *. unfold R_dist in *. assert (AB := Rabs_pos (y - z)).
      assert (K : Rabs (f y - f z) <= M * Rabs (y - z)).
      { destruct (Rle_dec z y) as [G|G]; [specialize (F2 z y G)|specialize (F2 y z ltac:(lra))].
        - rewrite !Rabs_pos_eq by lra. lra.
        - rewrite Rabs_minus_sym, (Rabs_minus_sym y z), !Rabs_pos_eq by lra. lra. }
      apply Rle_lt_trans with (M * Rabs (y - z)); [exact K|]. apply Rle_lt_trans with ((M + 1) * Rabs (y - z)); [lra|].
      apply Rmult_lt_reg_l with (/ (M + 1)); [apply Rinv_0_lt_compat; lra|]. rewrite <- Rmult_assoc, Rinv_l, Rmult_1_l by lra.
      unfold Rdiv in Y. lra. }
    apply (continuous_mult P (fun x => f (loss x))); [now apply (ex_derive_continuous P)|].
    apply (continuous_comp loss f); [|apply CF]. apply (ex_derive_continuous loss). unfold loss. auto_derive.
    repeat split; auto; [lra|]. now apply Rdiv_lt_0_compat.
  - intros x. assert (K := proj1 (pair_pos x)). specialize (F1 (loss x)). split; [apply Rmult_le_pos; lra|].
    rewrite Rmult_comm. apply Rmult_le_compat_r; lra.
  - intros x. left; apply pair_pos.
  - now apply pair_P_int. Qed.
Definition sampled_gaussian_law : functional.
Proof. set (I := fun f => real (Lim (fun T => RInt (fun x => P x * f (loss x)) (- T) T) p_infty)).
  assert (II : forall f v, is_line (fun x => P x * f (loss x)) v -> I f = v) by (intros; now apply line_lim).
  refine {| J := I |}.
  - intros f g F G. destruct (cone_int f F) as [u U]. destruct (cone_int g G) as [v V]. rewrite (II f u U), (II g v V). apply II.
    apply (line_ext (fun x => P x * f (loss x) + P x * g (loss x))); [intros; ring|]. now apply line_plus.
  - intros c f _ F. destruct (cone_int f F) as [u U]. rewrite (II f u U). apply II.
    apply (line_ext (fun x => c * (P x * f (loss x)))); [intros; ring|]. now apply line_scal.
  - intros f g F G H. destruct (cone_int f F) as [u U]. destruct (cone_int g G) as [v V]. rewrite (II f u U), (II g v V).
    refine (line_le _ _ _ _ _ U V). intros x. apply Rmult_le_compat_l; [left; apply pair_pos|auto]. Defined.
Theorem sampled_gaussian_law_delta eps : J sampled_gaussian_law (w eps) = curve o q m (exp eps).
Proof. apply line_lim, sampled_gaussian_delta. Qed.
Theorem sampled_gaussian_law_mass : J sampled_gaussian_law (fun _ => 1) = 1.
Proof. apply line_lim. apply (line_ext P); [intros; ring|now apply pair_P_int]. Qed.
End SampledGaussianLaw.
(* Its k-fold composition is bounded by that of any integer law that `covers` finds above it. *)
Theorem composed_sampled_gaussian p h_num h_den B v (C : covers p h_num h_den B v = true) k eps :
  let H := covers_ok p h_num h_den B v C in
  D (sampled_gaussian_law (in_order p) (q_of p) (/ sigma_of p) (proj1 (proj2 (proj2 H)))) 0 k eps
  <= delta eps (kfold k (law_of (IZR h_num / IZR h_den) (IZR (2 ^ B)) v)).
Proof. intros H. assert (K := H). destruct K as [N [T [_ [S E]]]]. assert (V := Rinv_0_lt_compat _ S).
  apply continuous_kfold; [lra|exact N| |].
  - intros e. rewrite Rplus_0_l, sampled_gaussian_law_delta by auto. apply E.
  - unfold mass. rewrite Rplus_0_l, sampled_gaussian_law_mass by auto. exact T. Qed.
