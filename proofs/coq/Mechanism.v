(* 14. From the mechanism to the guarantee: adaptive queries, Poisson sampling, Gaussian noise, steps of several kinds.

   A data set is a list of records, of any type.  A step adds up a query over a random batch of it, in which every
   record is with probability `rate`, and adds normal noise of scale `noise`; its output is a real number.  The query
   may depend on all earlier outputs, and one record contributes at most 1 to it.  `sampled_gaussian_private` says: if
   the program accepts a problem and finds every one-step law of it above its kind's own loss law, then the outputs of
   all steps, on a data set with one record and without it, are (eps, bound/2^B)-indistinguishable by any test. *)
Require Import Reals ZArith List Lra Lia.
From VerifiedDP Require Import Law HockeyStick Checker Link Integral Normal Enclosures SampledGaussian Extract.
Import ListNotations.
Open Scope R_scope.

Record plan := { rate : R; noise : R }.
(* the density of the next output y after the outputs h (the latest first), when the steps are as planned *)
Definition mechanism {X} (plans : list plan) (query : list R -> X -> R) (D : list X) (h : list R) (y : R) : R :=
  match nth_error plans (length h) with
  | Some a => sampled (rate a) (fun batch y => normal (noise a) (S (query h) batch) y) D y
  | None => 0
  end.

(* What the program found of each kind: its law is above that of a sampled Gaussian step, for a record o. *)
Definition found (o : order) (p : problem) (k : kind) (g : gaussian_step) :=
  in_order g = o /\ covers g (h_num p) (h_den p) (bits p) (step_law k) = true.
Definition plan_of (g : gaussian_step) := {| rate := q_of g; noise := sigma_of g |}.
(* count steps of each kind, in turn *)
Fixpoint plans_of (ks : list kind) (gs : list gaussian_step) : list plan :=
  match ks, gs with k :: ks, g :: gs => repeat (plan_of g) (Z.to_nat (count k)) ++ plans_of ks gs | _, _ => [] end.

Section Step.
Context {X : Type} (f : X -> R) (x : X) (D : list X) (g : gaussian_step) (B : law).
Hypothesis Hf : forall x, Rabs (f x) <= 1.
Hypothesis Hq : 0 < q_of g <= 1.
Hypothesis Hs : 0 < sigma_of g.
Hypothesis Ht : 1 <= tot B.
Hypothesis HB : forall e, curve (in_order g) (q_of g) (/ sigma_of g) (exp e) <= delta e B.
Let M (b : list X) (y : R) := normal (sigma_of g) (S f b) y.
Let P := sampled (q_of g) M.
Lemma one_step : bounded_by line (P (match in_order g with Remove => x :: D | Add => D end))
                                 (P (match in_order g with Remove => D | Add => x :: D end)) B.
Proof. assert (V := Rinv_0_lt_compat _ Hs). assert (M0 : forall b y, 0 <= M b y) by (intros; now apply normal_ge0).
  assert (M1 : forall b, is_int line (M b) 1) by (intros; now apply normal_line).
  assert (P0 : forall D y, 0 <= P D y) by (intros; now apply sampled_ge0).
  assert (P1 : forall D, upto line (P D) (tot B)).
  { intros D'. apply (upto_le _ _ (P D') 1); [intros; lra|auto|]. apply upto_int. now apply sampled_int. }
  repeat split; auto. intros e. specialize (HB e). destruct (in_order g); cbn [curve] in HB.
  - eapply upto_le; [intros y; apply Rle_refl|exact HB|]. unfold P.
    apply (sampled_remove line (q_of g) M Hq (stick (/ sigma_of g))); [intros; now apply stick_ge0|].
    intros b z a. unfold M; cbn [S]. rewrite (Rplus_comm (f z)). now apply gaussian_base.
  - eapply upto_le; [intros y; apply Rle_refl|exact HB|]. unfold P.
    apply (sampled_add line (q_of g) M Hq M0 (stick (/ sigma_of g))); [intros; now apply stick_ge0|left; apply exp_pos|].
    intros b z a. unfold M; cbn [S]. assert (N : Rabs (- f z) <= 1) by now rewrite Rabs_Ropp.
    assert (K := gaussian_base (sigma_of g) (f z + S f b) (- f z) a Hs N).
    now replace (f z + S f b + - f z) with (S f b) in K by ring. Qed.
End Step.

Section Private.
Context {X : Type} (query : list R -> X -> R) (x : X) (D : list X) (o : order) (p : problem) (gs : list gaussian_step).
Hypothesis bounded_query : forall h x, Rabs (query h x) <= 1.
Hypothesis all_found : Forall2 (found o p) (kinds p) gs.
Let plans := plans_of (kinds p) gs.
(* the densities with the record and without it, in the order of the divergence *)
Definition first := mechanism plans query (match o with Remove => x :: D | Add => D end).
Definition second := mechanism plans query (match o with Remove => D | Add => x :: D end).

Lemma all_steps : all_bounded line first second (steps_of p) [] /\ length (steps_of p) = length plans.
Proof. assert (G : forall ks gs', Forall2 (found o p) ks gs' -> forall before h, plans = before ++ plans_of ks gs' ->
    length h = length before -> all_bounded line first second (laws_of (grid_step p) (bits p) ks) h
      /\ length (laws_of (grid_step p) (bits p) ks) = length (plans_of ks gs')).
  { intros ks gs' F. induction F as [|k g ks gs' [O C] F IH]; intros before h E L; [simpl; auto|].
    destruct (covers_ok _ _ _ _ _ C) as [N [T [Q [Sg HC]]]]. cbn [laws_of flat_map plans_of] in *. fold (laws_of (grid_step p) (bits p) ks).
    revert before h E L. induction (Z.to_nat (count k)) as [|n IHn]; intros before h E L; cbn [repeat app] in *.
    - exact (IH before h E L).
    - assert (NT : nth_error plans (length h) = Some (plan_of g)).
      { rewrite E, L, nth_error_app2, Nat.sub_diag by lia. reflexivity. }
      assert (E' : plans = (before ++ [plan_of g]) ++ repeat (plan_of g) n ++ plans_of ks gs') by (rewrite <- app_assoc; exact E).
      assert (L' : forall y : R, length (y :: h) = length (before ++ [plan_of g])) by (intros; rewrite app_length; simpl; lia).
      split; [|cbn [length]; f_equal; exact (proj2 (IHn _ (0 :: h) E' (L' 0)))].
      split; [|intros y; exact (proj1 (IHn _ (y :: h) E' (L' y)))].
      unfold first, second, mechanism. rewrite NT. cbn [rate noise plan_of].
      assert (K := one_step (query h) x D g _ (bounded_query h) Q Sg T HC). rewrite O in K. exact K. }
  exact (G (kinds p) gs all_found [] [] eq_refl eq_refl). Qed.

Theorem sampled_gaussian_bounded : Forall nonneg (steps_of p) -> forall eps d, delta eps (composed p) <= d ->
  forall test u v, (forall outputs, 0 <= test outputs <= 1) ->
  expect line first test (length plans) [] u -> expect line second test (length plans) [] v -> u <= exp eps * v + d.
Proof. intros N eps d Hd test u v Ht HU HV. destruct all_steps as [HB L]. rewrite <- L in *.
  now apply (adaptive_test line first second test (steps_of p)). Qed.
Theorem sampled_gaussian_private : accept_N p = true -> direction p = Above ->
  forall test u v, (forall outputs, 0 <= test outputs <= 1) ->
  expect line first test (length plans) [] u -> expect line second test (length plans) [] v ->
  u <= exp (epsilon_of p) * v + IZR (bound p) / unit_of p.
Proof. intros HA Hd. apply sampled_gaussian_bounded; [now apply (accept_nonneg product_N)|now apply accepted_above]. Qed.
End Private.
