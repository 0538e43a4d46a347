(* 15. From the mechanism to the guarantee: adaptive queries in R^d, Poisson sampling, Gaussian noise, several kinds.

   A data set is a list of records, of any type.  A step adds up a query over a random batch of it, in which every
   record is with probability `rate`, and adds normal noise of scale `noise` in every coordinate; its output is a vector
   of R^d.  The query may depend on all earlier outputs, and one record contributes a vector of norm at most 1 to it.
     sampled_gaussian_private: if the program accepts a problem and finds every one-step law of it above its kind's own
       loss law, then the outputs of all steps, in any order of the kinds, on a data set with one record and without it,
       are (eps, bound/2^B)-indistinguishable by any test;
     dp_sgd_private: the same for steps of one kind, for a record removed and added, with all that it says written out;
     gaussian_private: steps without sampling, whatever their noises, by one law of all of them;
     dp_sgd_ghost: a record that contributes nothing is as good as none, so that zeroing one out is covered, too;
     dp_sgd_permutation: the order of the records does not matter. *)
Require Import Reals ZArith List Lra Lia Bool Permutation.
From VerifiedDP Require Import Law HockeyStick Checker Link Integral Normal Space Enclosures SampledGaussian Events Extract.
Import ListNotations.
Open Scope R_scope.

Record plan := { rate : R; noise : R }.
(* the density of the next output y after the outputs h (the latest first), when the steps are as planned *)
Definition mechanism {X d} (plans : list plan) (query : list (vec d) -> X -> vec d) (D : list X) (h : list (vec d)) (y : vec d) : R :=
  match nth_error plans (length h) with
  | Some a => sampled (rate a) (fun batch => normals (noise a) (total (query h) batch)) D y
  | None => 0
  end.

Definition plan_of (g : gaussian_step) := {| rate := q_of g; noise := sigma_of g |}.
(* count steps of each kind, in turn *)
Fixpoint plans_of (ks : list kind) (gs : list gaussian_step) : list plan :=
  match ks, gs with k :: ks, g :: gs => repeat (plan_of g) (Z.to_nat (count k)) ++ plans_of ks gs | _, _ => [] end.

(* What the program found of a plan: its law is above that of a sampled Gaussian step, for a record o. *)
Definition covered (o : order) (s : plan * law) := let (a, B) := s in
  nonneg B /\ 1 <= tot B /\ 0 < rate a <= 1 /\ 0 < noise a /\ forall e, curve o (rate a) (/ noise a) (exp e) <= delta e B.

Lemma repeat_map {T U} (f : T -> U) a n : map f (repeat a n) = repeat (f a) n.
Proof. induction n as [|n IH]; simpl; [auto|now rewrite IH]. Qed.

Section Step.
Context {X : Type} {d : nat} (f : X -> vec d) (x : X) (D : list X) (o : order) (a : plan) (B : law).
Hypothesis Hf : forall x, norm (f x) <= 1.
Hypothesis HB : covered o (a, B).
Let M (b : list X) := normals (noise a) (total f b).
Let P := sampled (rate a) M.
Lemma one_step : bounded_by (space d) (P (match o with Remove => x :: D | Add => D end))
                                      (P (match o with Remove => D | Add => x :: D end)) B.
Proof. destruct HB as [_ [Ht [Hq [Hs HC]]]]. assert (V := Rinv_0_lt_compat _ Hs).
  assert (M0 : forall b y, 0 <= M b y) by (intros; now apply normals_ge0).
  assert (M1 : forall b, is_int (space d) (M b) 1) by (intros; now apply normals_int).
  assert (P0 : forall D y, 0 <= P D y) by (intros; now apply sampled_ge0).
  assert (P1 : forall D, upto (space d) (P D) (tot B)).
  { intros D'. apply (upto_le _ _ (P D') 1); [intros; lra|auto|]. apply upto_int. now apply sampled_int. }
  repeat split; auto. intros e. specialize (HC e). destruct o; cbn [curve] in HC.
  - eapply upto_le; [intros y; apply Rle_refl|exact HC|]. unfold P.
    apply (sampled_remove (space d) (rate a) M Hq (stick (/ noise a))); [intros; now apply stick_ge0|].
    intros b z c. unfold M; cbn [total]. rewrite (plus_comm (f z)). now apply gaussian_space.
  - eapply upto_le; [intros y; apply Rle_refl|exact HC|]. unfold P.
    apply (sampled_add (space d) (rate a) M Hq M0 (stick (/ noise a))); [intros; now apply stick_ge0|left; apply exp_pos|].
    intros b z c. unfold M; cbn [total]. assert (N : norm (opp_vec (f z)) <= 1) by (unfold norm; rewrite squares_opp; apply Hf).
    assert (K := gaussian_space (noise a) Hs d (plus_vec (f z) (total f b)) _ c N). now rewrite plus_opp in K. Qed.
End Step.

Section Private.
Context {X : Type} {d : nat} (query : list (vec d) -> X -> vec d) (x : X) (D : list X) (o : order).
Variables (p : problem) (gs : list gaussian_step) (plans : list plan).
Hypothesis bounded_query : forall h x, norm (query h x) <= 1.
Hypothesis above : direction p = Above.
Hypothesis some_kind : kinds p <> [].
Hypothesis judged : judge (Some o) p (map Some gs) = true.
Hypothesis planned : Permutation (plans_of (kinds p) gs) plans.
(* the densities with the record and without it, in the order of the divergence *)
Definition first := mechanism plans query (match o with Remove => x :: D | Add => D end).
Definition second := mechanism plans query (match o with Remove => D | Add => x :: D end).

Lemma decided : decide (Some o) p (map Some gs) = true.
Proof. now rewrite <- judge_above. Qed.
Lemma accepted : accept_N p = true.
Proof. assert (F := decided). now apply andb_prop in F as [? _]. Qed.
(* plans and laws of all steps, in pairs *)
Lemma paired : exists steps, Forall (covered o) steps /\ map fst steps = plans_of (kinds p) gs /\ map snd steps = steps_of p.
Proof. assert (F := decided). apply andb_prop in F as [_ F]. unfold steps_of.
  revert F. generalize (kinds p) as ks, gs as gs'. intros ks gs'. revert ks. induction gs' as [|g gs' IH]; intros [|k ks] F; try discriminate.
  - exists []. auto.
  - cbn [all_found map] in F. apply andb_prop in F as [F R]. destruct (IH ks R) as [steps [S1 [S2 S3]]].
    destruct (found_ok _ _ _ _ F) as [_ [O C]].
    exists (repeat (plan_of g, law_of (grid_step p) (unit_of p) (step_law k)) (Z.to_nat (count k)) ++ steps).
    cbn [plans_of laws_of flat_map]. rewrite !map_app, !repeat_map, S2, S3. split; [|auto]. apply Forall_app; split; auto. apply Forall_forall. intros s Hs.
    apply repeat_spec in Hs; subst s. destruct (covers_ok _ _ _ _ _ C) as [C1 [C2 [C3 [C4 C5]]]]. rewrite O in C5.
    exact (conj C1 (conj C2 (conj C3 (conj C4 C5)))). Qed.
Lemma all_steps steps : Forall (covered o) steps -> forall before h, plans = before ++ map fst steps ->
  length h = length before -> all_bounded (space d) first second (map snd steps) h.
Proof. intros F. induction F as [|[a B] steps C F IH]; intros before h E L; [simpl; auto|]. cbn [map fst snd all_bounded] in *.
  assert (NT : nth_error plans (length h) = Some a) by (rewrite E, L, nth_error_app2, Nat.sub_diag by lia; reflexivity).
  split.
  - unfold first, second, mechanism. rewrite NT. exact (one_step (query h) x D o a B (bounded_query h) C).
  - intros y. apply (IH (before ++ [a])); [rewrite <- app_assoc; exact E|rewrite app_length; simpl; lia]. Qed.
Theorem sampled_gaussian_private : forall test u v, (forall outputs, 0 <= test outputs <= 1) ->
  expect (space d) first test (length plans) [] u -> expect (space d) second test (length plans) [] v ->
  u <= exp (epsilon_of p) * v + IZR (bound p) / unit_of p.
Proof. intros test u v Ht HU HV. destruct paired as [steps [C [SP SL]]]. rewrite <- SP in planned.
  destruct (Permutation_map_inv _ _ (Permutation_sym planned)) as [all [E Q]]. assert (C' : Forall (covered o) all).
  { rewrite Forall_forall in *. intros s Hs. apply C. now apply (Permutation_in s (Permutation_sym Q)). }
  rewrite E, map_length, <- (map_length snd) in HU, HV.
  apply (adaptive_test (space d) first second test (map snd all)); auto.
  - apply Forall_forall. intros B HB. apply in_map_iff in HB as [[a B'] [<- HB]]. rewrite Forall_forall in C'.
    exact (proj1 (C' _ HB)).
  - apply (all_steps all C' []); auto.
  - eapply Rle_trans; [right|exact (accepted_above p accepted above)]. unfold composed. rewrite <- SL.
    apply compose_permutation. apply Permutation_map. now apply Permutation_sym. Qed.
End Private.

(* ---------- one kind of steps, a record removed or added ---------- *)
Lemma expect_ext {T} (A : integral T) (P Q : list T -> T -> R) test k : forall h v,
  (forall h' y, (length h' < length h + k)%nat -> P h' y = Q h' y) -> expect A P test k h v -> expect A Q test k h v.
Proof. induction k as [|k IH]; intros h v H HE; cbn [expect] in *; auto. destruct HE as [F [HF IF]]. exists F. split.
  - intros y. apply IH; [|auto]. intros h' z Hl. apply H. cbn [length] in Hl. lia.
  - apply (int_ext A (fun y => P h y * F y)); auto. intros y. now rewrite H by lia. Qed.
(* The program accepts T steps at rate q with noise sigma, for a record o, at this eps with a bound of at most this delta. *)
Definition decides (T : positive) (q sigma eps delta : R) (o : order) (p : problem) (g : gaussian_step) :=
  judge (Some o) p [Some g] = true /\ direction p = Above /\ map count (kinds p) = [Zpos T] /\ q_of g = q /\ sigma_of g = sigma
  /\ epsilon_of p = eps /\ IZR (bound p) / unit_of p <= delta.
Section OneKind.
Context {X : Type} {d : nat} (gradient : list (vec d) -> X -> vec d) (T : positive) (q sigma eps delta : R).
Hypothesis clipped : forall h z, norm (gradient h z) <= 1.
(* One step: every record is in the batch with probability q; the gradients of the batch, which may depend on all
   earlier outputs h, are added up, and normal noise of scale sigma is added to every coordinate. *)
Definition dp_sgd (D : list X) (h : list (vec d)) : vec d -> R :=
  sampled q (fun batch => normals sigma (total (gradient h) batch)) D.
Lemma dp_sgd_order o p g x D test u v : decides T q sigma eps delta o p g -> (forall outputs, 0 <= test outputs <= 1) ->
  expect (space d) (dp_sgd (match o with Remove => x :: D | Add => D end)) test (Pos.to_nat T) [] u ->
  expect (space d) (dp_sgd (match o with Remove => D | Add => x :: D end)) test (Pos.to_nat T) [] v -> u <= exp eps * v + delta.
Proof. intros [HD [HA [HK [Hq [Hs [He Hb]]]]]] Ht HU HV. eapply Rle_trans; [|apply Rplus_le_compat_l; exact Hb]. rewrite <- He.
  set (plans := plans_of (kinds p) [g]). assert (E : plans = repeat {| rate := q; noise := sigma |} (Pos.to_nat T)).
  { unfold plans. destruct (kinds p) as [|k [|]]; try discriminate. injection HK as HK. cbn [plans_of]. rewrite HK, app_nil_r.
    unfold plan_of. now rewrite Hq, Hs. }
  assert (L : length plans = Pos.to_nat T) by (rewrite E; apply repeat_length). rewrite <- L in HU, HV.
  assert (EX : forall D h y, (length h < 0 + length plans)%nat -> dp_sgd D h y = mechanism plans gradient D h y).
  { intros D' h y H. unfold mechanism. rewrite E in *. rewrite repeat_length in H. now rewrite nth_error_repeat by lia. }
  assert (N : kinds p <> []) by (now destruct (kinds p)).
  apply (sampled_gaussian_private gradient x D o p [g] plans clipped HA N HD (Permutation_refl _) test u v Ht);
    (eapply expect_ext; [|first [exact HU|exact HV]]); intros; now apply EX. Qed.
(* A record that contributes nothing is as good as none: the same holds where a record is replaced by such a one. *)
Lemma total_ghost f (ghost : X) b : f ghost = zeros d -> total f (ghost :: b) = total f b.
Proof. intros H. cbn [total]. rewrite H. apply plus_zeros. Qed.
Theorem dp_sgd_ghost ghost : (forall h, gradient h ghost = zeros d) -> forall D h y, dp_sgd (ghost :: D) h y = dp_sgd D h y.
Proof. intros H D h y. unfold dp_sgd. rewrite sampled_cons. unfold sampled, mix. apply S_ext. intros b.
  rewrite total_ghost by auto. ring. Qed.
(* The order of the records does not matter. *)
Lemma total_permutation f (b b' : list X) : Permutation b b' -> total (d := d) f b = total f b'.
Proof. intros H; induction H; cbn [total]; congruence || apply plus_swap. Qed.
Lemma sampled_split (M : list X -> vec d -> R) x D y :
  sampled q M (x :: D) y = (1 - q) * sampled q M D y + q * sampled q (fun b => M (x :: b)) D y.
Proof. rewrite sampled_cons. unfold sampled, mix. rewrite <- !S_scal, <- S_plus. apply S_ext. intros; ring. Qed.
Lemma sampled_permutation y D D' : Permutation D D' -> forall M : list X -> vec d -> R,
  (forall b b', Permutation b b' -> M b y = M b' y) -> sampled q M D y = sampled q M D' y.
Proof. intros H; induction H as [|x D D' H IH|x z D|D D' D'' H1 IH1 H2 IH2]; intros M HM; auto.
  - rewrite !sampled_split, (IH M HM), (IH (fun b => M (x :: b))); auto.
  - rewrite !sampled_split. assert (E : sampled q (fun b => M (z :: x :: b)) D y = sampled q (fun b => M (x :: z :: b)) D y).
    { unfold sampled. apply S_ext. intros b. rewrite (HM _ (x :: z :: fst b)); auto using perm_swap. }
    rewrite E. ring.
  - now rewrite (IH1 M HM), (IH2 M HM). Qed.
Theorem dp_sgd_permutation D D' : Permutation D D' -> forall h y, dp_sgd D h y = dp_sgd D' h y.
Proof. intros H h y. apply sampled_permutation; auto. intros b b' P. now rewrite (total_permutation _ b b'). Qed.
Theorem dp_sgd_private p g p' g' : decides T q sigma eps delta Remove p g -> decides T q sigma eps delta Add p' g' ->
  forall x D test u v, (forall outputs, 0 <= test outputs <= 1) ->
  expect (space d) (dp_sgd (x :: D)) test (Pos.to_nat T) [] u -> expect (space d) (dp_sgd D) test (Pos.to_nat T) [] v ->
  u <= exp eps * v + delta /\ v <= exp eps * u + delta.
Proof. intros HR HA x D test u v Ht HU HV. split.
  - exact (dp_sgd_order Remove p g x D test u v HR Ht HU HV).
  - exact (dp_sgd_order Add p' g' x D test v u HA Ht HV HU). Qed.
End OneKind.

(* ---------- plain Gaussian steps: one law for all of them (T15) ---------- *)
(* What the program shows of one Gaussian step, by a law on a grid or by one event. *)
Definition shows (p : problem) (g : gaussian_step) := judge (Some (in_order g)) p [Some g] = true
  /\ (map count (kinds p) = [1%Z] \/ kinds p = []) /\ q_of g = 1.
Lemma curve_one o m e : curve o 1 m (exp e) = stick m (exp e).
Proof. destruct o; cbn [curve].
  - unfold remove_curve. rewrite Rmult_1_l. f_equal. field.
  - unfold add_curve. replace (1 - exp e * (1 - 1)) with 1 by ring. destruct (Rlt_dec 0 1); [|lra].
    rewrite Rmult_1_l. f_equal. field. Qed.
Lemma shown_above p g : shows p g -> direction p = Above ->
  0 < sigma_of g /\ stick (/ sigma_of g) (exp (epsilon_of p)) <= IZR (bound p) / unit_of p.
Proof. intros [HD [HK H1]] Ab. destruct HK as [HK|HK].
  - rewrite judge_above in HD; [|now destruct (kinds p)|auto]. apply andb_prop in HD as [HA F]. set (eps := epsilon_of p).
    assert (B := accepted_above p HA Ab). unfold composed, steps_of in B. destruct (kinds p) as [|k [|]]; try discriminate.
    injection HK as HK. cbn [all_found] in F. apply andb_prop in F as [F _]. destruct (found_ok _ _ _ _ F) as [_ [_ C]].
    destruct (covers_ok _ _ _ _ _ C) as [_ [_ [_ [C4 C5]]]]. split; auto. eapply Rle_trans; [|exact B].
    specialize (C5 eps). rewrite H1, curve_one in C5. eapply Rle_trans; [exact C5|right].
    cbn [laws_of flat_map]. rewrite HK. change (Z.to_nat 1) with 1%nat. cbn [repeat app compose]. rewrite delta_conv_comm. symmetry. apply same_unit.
  - unfold judge in HD. rewrite HK in HD. apply andb_prop in HD as [_ HD]. destruct (by_event_ok g p HD) as [_ [Sg K]].
    rewrite Ab, H1, curve_one in K. auto. Qed.
Lemma shifted_noises {d} c (A B : list (vec d) -> vec d) noises : (forall h, exists v, norm v <= c /\ A h = plus_vec (B h) v) ->
  Forall (Rlt 0) noises -> forall rest before h, noises = before ++ rest -> length h = length before ->
  all_shifted (fun h => normals (nth (length h) noises 1) (A h)) (fun h => normals (nth (length h) noises 1) (B h))
    (map (fun s => c * / s) rest) h.
Proof. intros HA HN. induction rest as [|s rest IH]; intros before h E L; cbn [map all_shifted]; auto.
  assert (NT : nth (length h) noises 1 = s) by (rewrite E, L, app_nth2, Nat.sub_diag by lia; reflexivity).
  assert (S0 : 0 < s) by (rewrite Forall_forall in HN; apply HN; rewrite E; apply in_elt). rewrite NT. split.
  - destruct (HA h) as [v [V1 V2]]. exists s, (B h), v. rewrite V2. repeat split; auto. unfold Rdiv.
    apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|auto].
  - intros y. apply (IH (before ++ [s])); [rewrite <- app_assoc; exact E|rewrite app_length; simpl; lia]. Qed.
(* centres that differ by vectors of norm at most c *)
Lemma shifted_private {d} c noises p g (A B : list (vec d) -> vec d) test u v : shows p g -> direction p = Above ->
  Forall (Rlt 0) noises -> S (fun s => c * / s * (c * / s)) noises <= / sigma_of g * / sigma_of g ->
  (forall h, exists w, norm w <= c /\ A h = plus_vec (B h) w) -> (forall outputs, 0 <= test outputs <= 1) ->
  expect (space d) (fun h => normals (nth (length h) noises 1) (A h)) test (length noises) [] u ->
  expect (space d) (fun h => normals (nth (length h) noises 1) (B h)) test (length noises) [] v ->
  u <= exp (epsilon_of p) * v + IZR (bound p) / unit_of p.
Proof. intros HD Ab HN HS HAB Ht EU EV. destruct (shown_above p g HD Ab) as [Sg K]. assert (V := Rinv_0_lt_compat _ Sg).
  rewrite <- (map_length (fun s => c * / s)) in EU, EV.
  destruct (gaussian_merged _ _ test Ht _ _ _ _ (shifted_noises c A B noises HAB HN noises [] [] eq_refl eq_refl) EU EV) as [_ R].
  specialize (R (exp (epsilon_of p))). assert (T : tip (root (map (fun s => c * / s) noises)) (exp (epsilon_of p)) <= IZR (bound p) / unit_of p); [|lra].
  eapply Rle_trans; [apply (tip_grows _ (/ sigma_of g)); auto|lra]. unfold root. rewrite S_map.
  rewrite <- (sqrt_square (/ sigma_of g)) by lra. apply sqrt_le_1_alt. exact HS. Qed.
Section Plain.
Context {X : Type} {d : nat} (query : list (vec d) -> X -> vec d) (noises : list R).
Hypothesis bounded : forall h z, norm (query h z) <= 1.
Hypothesis noisy : Forall (Rlt 0) noises.
(* the density of the next output *)
Definition plain (D : list X) (h : list (vec d)) := normals (nth (length h) noises 1) (total (query h) D).
Variables (p : problem) (g : gaussian_step).
Hypothesis shown : shows p g.
Hypothesis above : direction p = Above.
Theorem gaussian_private : S (fun s => / s * / s) noises <= / sigma_of g * / sigma_of g ->
  forall (x : X) D test u v, (forall outputs, 0 <= test outputs <= 1) ->
  expect (space d) (plain (x :: D)) test (length noises) [] u -> expect (space d) (plain D) test (length noises) [] v ->
  let eps := epsilon_of p in let delta := IZR (bound p) / unit_of p in u <= exp eps * v + delta /\ v <= exp eps * u + delta.
Proof. intros HS x D test u v Ht HU HV. assert (HS1 : S (fun s => 1 * / s * (1 * / s)) noises <= / sigma_of g * / sigma_of g).
  { rewrite (S_ext _ (fun s => / s * / s)) by (intros; ring). exact HS. }
  split; [refine (shifted_private 1 noises p g (fun h => total (query h) (x :: D)) (fun h => total (query h) D) test u v shown above noisy HS1 _ Ht HU HV)
         |refine (shifted_private 1 noises p g (fun h => total (query h) D) (fun h => total (query h) (x :: D)) test v u shown above noisy HS1 _ Ht HV HU)];
    intros h; cbn [total].
  - exists (query h x). split; [auto|apply plus_comm].
  - exists (opp_vec (query h x)). split; [unfold norm; rewrite squares_opp; apply bounded|now rewrite plus_opp]. Qed.
(* one record in place of another: the queries differ by a vector of norm at most 2 *)
Lemma squares_minus {n} (a b : vec n) : squares (plus_vec a (opp_vec b)) <= 2 * squares a + 2 * squares b.
Proof. induction n as [|n IH]; simpl; [lra|]. specialize (IH (snd a) (snd b)). assert (S2 := pow2_ge_0 (fst a + fst b)). nra. Qed.
Lemma exchanged {n} (a b t : vec n) : plus_vec a t = plus_vec (plus_vec b t) (plus_vec a (opp_vec b)).
Proof. induction n as [|n IH]; [reflexivity|]. cbn. rewrite <- IH. f_equal; ring. Qed.
Theorem gaussian_replace_private : S (fun s => 2 * / s * (2 * / s)) noises <= / sigma_of g * / sigma_of g ->
  forall (x x' : X) D test u v, (forall outputs, 0 <= test outputs <= 1) ->
  expect (space d) (plain (x :: D)) test (length noises) [] u -> expect (space d) (plain (x' :: D)) test (length noises) [] v ->
  u <= exp (epsilon_of p) * v + IZR (bound p) / unit_of p.
Proof. intros HS x x' D test u v Ht HU HV. refine (shifted_private 2 noises p g (fun h => total (query h) (x :: D))
    (fun h => total (query h) (x' :: D)) test u v shown above noisy HS _ Ht HU HV). intros h. cbn [total].
  exists (plus_vec (query h x) (opp_vec (query h x'))). split.
  - unfold norm. rewrite <- (sqrt_square 2) by lra. apply sqrt_le_1_alt. assert (K := squares_minus (query h x) (query h x')).
    assert (B : forall z, squares (query h z) <= 1).
    { intros z. assert (Q := bounded h z). unfold norm in Q. assert (P := squares_ge0 (query h z)). rewrite <- (sqrt_sqrt _ P).
      assert (P1 := sqrt_pos (squares (query h z))). nra. }
    assert (B1 := B x). assert (B2 := B x'). lra.
  - apply exchanged. Qed.
End Plain.
