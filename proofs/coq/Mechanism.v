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
From VerifiedDP Require Import Law HockeyStick Checker Link Integral Normal Space Enclosures SampledGaussian Events Guaranteed Zcdp Extract.
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


(* ---------- steps of any kinds, with outputs of any kind ---------- *)
(* What is stated of a step: its hockey-stick divergences, as a curve in e^eps. *)
Definition curve_of (s : stated) : R -> R :=
  match s with
  | Gaussian g => curve (in_order g) (q_of g) (/ sigma_of g)
  | Guarantee g => guaranteed (g_source g) (g_order g) (g_q g) (g_eps g) (g_delta g)
  | Zcdp _ => fun _ => 1
  | Replacement g => curve Replaced (q_of g) (/ sigma_of g)
  | Batch g _ => fun a => Rmax (curve Remove (q_of g) (/ sigma_of g) a) (curve Add (q_of g) (/ sigma_of g) a)
  end.
Definition sane (s : stated) : Prop :=
  match s with
  | Gaussian g | Replacement g | Batch g _ => 0 < q_of g <= 1 /\ 0 < sigma_of g
  | Guarantee g => 0 < g_q g <= 1 /\ 0 <= g_eps g /\ 0 <= g_delta g <= 1 /\ sound_source (g_source g) (g_eps g)
  | Zcdp _ => False  (* no law *)
  end.
(* count steps of each kind, in turn *)
Fixpoint steps_stated (ks : list kind) (ss : list stated) : list stated :=
  match ks, ss with k :: ks, s :: ss => repeat s (Z.to_nat (count k)) ++ steps_stated ks ss | _, _ => [] end.
(* P and Q are densities of outputs, and the curve bounds P - e^eps Q of every test *)
Definition within_curve {T} (A : integral T) (C : R -> R) (P Q : T -> R) := (forall y, 0 <= P y) /\ (forall y, 0 <= Q y) /\
  is_int A P 1 /\ forall e, upto A (fun y => pos (P y - exp e * Q y)) (C (exp e)).
(* What the program found: an integer law is above the curve. *)
Definition covered (o : order) (s : stated * law) := let (a, B) := s in
  order_of a = o /\ sane a /\ nonneg B /\ 1 <= tot B /\ forall e, curve_of a (exp e) <= delta e B.
Lemma repeat_map {T U} (f : T -> U) a n : map f (repeat a n) = repeat (f a) n.
Proof. induction n as [|n IH]; simpl; [auto|now rewrite IH]. Qed.
Section Steps.
Context {T : Type} (A : integral T) (P Q : list T -> T -> R) (o : order) (p : problem) (ss plans : list stated).
Hypothesis above : direction p = Above.
Hypothesis some_kind : kinds p <> [].
Hypothesis judged : judge (Some o) p (map Some ss) = true.
Hypothesis planned : Permutation (steps_stated (kinds p) ss) plans.
(* after the outputs h *)
Hypothesis each : forall s h, nth_error plans (length h) = Some s -> order_of s = o -> sane s -> within_curve A (curve_of s) (P h) (Q h).
Lemma decided : decide (Some o) p (map Some ss) = true.
Proof. now rewrite <- judge_above. Qed.
Lemma accepted : accept_N p = true.
Proof. assert (F := decided). now apply andb_prop in F as [? _]. Qed.
(* steps and laws, in pairs *)
Lemma paired : exists steps, Forall (covered o) steps /\ map fst steps = steps_stated (kinds p) ss /\ map snd steps = steps_of p.
Proof. assert (F := decided). apply andb_prop in F as [_ F]. unfold steps_of.
  clear some_kind judged planned. revert F. generalize (kinds p) as ks. induction ss as [|s ss' IH]; intros [|k ks] F; try discriminate.
  - exists []. auto.
  - cbn [all_found map] in F. apply andb_prop in F as [F R]. destruct (IH ks R) as [steps [S1 [S2 S3]]].
    destruct (found_ok _ _ _ _ F) as [_ [O C]].
    exists (repeat (s, law_of (grid_step p) (unit_of p) (step_law k)) (Z.to_nat (count k)) ++ steps).
    cbn [steps_stated laws_of flat_map]. rewrite !map_app, !repeat_map, S2, S3. split; [|auto]. apply Forall_app; split; auto. apply Forall_forall. intros z Hz.
    apply repeat_spec in Hz; subst z. split; [exact O|]. destruct s as [g|g| |g|g ts]; cbn [law_above] in C; [| |discriminate| |].
    + destruct (covers_ok _ _ _ _ _ C) as [C1 [C2 [C3 [C4 C5]]]]. exact (conj (conj C3 C4) (conj C1 (conj C2 C5))).
    + assert (SG : sound_guarantee g = true) by (unfold covers_guarantee in C; apply andb_prop in C as [C _]; now apply andb_prop in C as [C _]).
      exact (conj (proj2 (sound_guarantee_ok g SG)) (covers_guarantee_ok g SG _ _ _ _ C)).
    + destruct (covers_way_ok _ _ _ _ _ _ C) as [C1 [C2 [C3 [C4 C5]]]]. exact (conj (conj C3 C4) (conj C1 (conj C2 C5))).
    + apply andb_prop in C as [CR CA]. destruct (covers_way_ok _ _ _ _ _ _ CR) as [C1 [C2 [C3 [C4 C5]]]].
      destruct (covers_way_ok _ _ _ _ _ _ CA) as [_ [_ [_ [_ C6]]]].
      exact (conj (conj C3 C4) (conj C1 (conj C2 (fun e => Rmax_lub _ _ _ (C5 e) (C6 e))))). Qed.
Lemma all_steps steps : Forall (covered o) steps -> forall before h, plans = before ++ map fst steps ->
  length h = length before -> all_bounded A P Q (map snd steps) h.
Proof. intros F. induction F as [|[a B] steps C F IH]; intros before h E L; [simpl; auto|]. cbn [map fst snd all_bounded] in *.
  assert (NT : nth_error plans (length h) = Some a) by (rewrite E, L, nth_error_app2, Nat.sub_diag by lia; reflexivity).
  destruct C as [O [Sa [_ [Ht HC]]]]. split.
  - destruct (each a h NT O Sa) as [P0 [Q0 [P1 H]]]. split; [auto|split; [auto|split]].
    + apply (upto_le _ _ (P h) 1); [intros; lra|auto|]. now apply upto_int.
    + intros e. eapply upto_le; [intros y; apply Rle_refl|exact (HC e)|apply H].
  - intros y. apply (IH (before ++ [a])); [rewrite <- app_assoc; exact E|rewrite app_length; simpl; lia]. Qed.
Theorem steps_private : forall test u v, (forall outputs, 0 <= test outputs <= 1) ->
  expect A P test (length plans) [] u -> expect A Q test (length plans) [] v ->
  u <= exp (epsilon_of p) * v + IZR (bound p) / unit_of p.
Proof. intros test u v Ht HU HV. destruct paired as [steps [C [SP SL]]]. rewrite <- SP in planned.
  destruct (Permutation_map_inv _ _ (Permutation_sym planned)) as [all [E R]]. assert (C' : Forall (covered o) all).
  { rewrite Forall_forall in *. intros s Hs. apply C. now apply (Permutation_in s (Permutation_sym R)). }
  rewrite E, map_length, <- (map_length snd) in HU, HV.
  apply (adaptive_test A P Q test (map snd all)); auto.
  - apply Forall_forall. intros B HB. apply in_map_iff in HB as [[a B'] [<- HB]]. rewrite Forall_forall in C'.
    exact (proj1 (proj2 (proj2 (C' _ HB)))).
  - apply (all_steps all C' []); auto.
  - eapply Rle_trans; [right|exact (accepted_above p accepted above)]. unfold composed. rewrite <- SL.
    apply compose_permutation. apply Permutation_map. now apply Permutation_sym. Qed.
End Steps.

(* ---------- a step on a random batch ---------- *)
Lemma sampled_within_one {X T} (A : integral T) o q (c : R -> R) (M : list X -> T -> R) x D : 0 < q <= 1 -> (forall a, 0 <= c a) ->
  (forall b y, 0 <= M b y) -> (forall b, is_int A (M b) 1) ->
  match o with Remove => forall b x a, upto A (fun y => pos (M (x :: b) y - a * M b y)) (c a)
    | Add => forall b x a, upto A (fun y => pos (M b y - a * M (x :: b) y)) (c a) end ->
  within_curve A (match o with Remove => remove_curve q c | Add => add_curve q c end)
    (sampled q M (match o with Remove => x :: D | Add => D end)) (sampled q M (match o with Remove => D | Add => x :: D end)).
Proof. intros Hq c0 M0 M1 H. repeat split; [intros; now apply sampled_ge0|intros; now apply sampled_ge0|now apply sampled_int|].
  intros e. destruct o.
  - now apply (sampled_remove A q M Hq c).
  - apply (sampled_add A q M Hq M0 c); auto. left; apply exp_pos. Qed.
(* the same where one curve is known in both directions *)
Lemma sampled_within {X T} (A : integral T) o q (c : R -> R) (M : list X -> T -> R) x D : 0 < q <= 1 -> (forall a, 0 <= c a) ->
  (forall b y, 0 <= M b y) -> (forall b, is_int A (M b) 1) ->
  (forall b x a, upto A (fun y => pos (M (x :: b) y - a * M b y)) (c a)) -> (forall b x a, upto A (fun y => pos (M b y - a * M (x :: b) y)) (c a)) ->
  within_curve A (match o with Remove => remove_curve q c | Add => add_curve q c end)
    (sampled q M (match o with Remove => x :: D | Add => D end)) (sampled q M (match o with Remove => D | Add => x :: D end)).
Proof. intros. apply sampled_within_one; auto. now destruct o. Qed.
(* normal noise on a query that one record changes by a vector of norm at most 1 *)
Definition unit_change {X d} (F : list X -> vec d) := forall b x, exists w, norm w <= 1 /\ F (x :: b) = plus_vec (F b) w.
Lemma total_change {X d} (f : X -> vec d) : (forall x, norm (f x) <= 1) -> unit_change (total f).
Proof. intros H b x. exists (f x). split; auto. apply plus_comm. Qed.
Lemma gaussian_batches {X d} (F : list X -> vec d) sigma s a : unit_change F -> 0 < s <= sigma -> forall b x,
  let M b := normals sigma (F b) in upto (space d) (fun y => pos (M (x :: b) y - a * M b y)) (stick (/ s) a)
  /\ upto (space d) (fun y => pos (M b y - a * M (x :: b) y)) (stick (/ s) a).
Proof. intros HF [S0 S1] b x M. assert (Hs : 0 < sigma) by lra. assert (V := Rinv_0_lt_compat _ Hs). destruct (HF b x) as [w [Hw E]].
  assert (K : stick (/ sigma) a <= stick (/ s) a) by (apply stick_mono; auto; apply Rinv_le_contravar; lra).
  split; (eapply upto_le; [intros y; apply Rle_refl|exact K|]); unfold M; rewrite E.
  - now apply gaussian_space.
  - assert (N : norm (opp_vec w) <= 1) by (unfold norm; rewrite squares_opp; apply Hw).
    assert (G := gaussian_space sigma Hs d (plus_vec w (F b)) _ a N). rewrite plus_opp in G. now rewrite (plus_comm (F b)). Qed.

Definition gaussian (g : gaussian_step) := Some (Gaussian g).
Section Private.
Context {X : Type} {d : nat} (query : list (vec d) -> X -> vec d) (x : X) (D : list X) (o : order).
Variables (p : problem) (gs : list gaussian_step) (plans : list plan).
Hypothesis bounded_query : forall h x, norm (query h x) <= 1.
Hypothesis above : direction p = Above.
Hypothesis some_kind : kinds p <> [].
Hypothesis judged : judge (Some o) p (map gaussian gs) = true.
Hypothesis planned : Permutation (plans_of (kinds p) gs) plans.
(* the densities with the record and without it, in the order of the divergence *)
Definition first := mechanism plans query (match o with Remove => x :: D | Add => D end).
Definition second := mechanism plans query (match o with Remove => D | Add => x :: D end).
Definition plan_stated (s : stated) := match s with Gaussian g | Replacement g => plan_of g | _ => {| rate := 0; noise := 0 |} end.
Lemma plans_stated (w : gaussian_step -> stated) ks : (forall g, plan_stated (w g) = plan_of g) ->
  forall gs, plans_of ks gs = map plan_stated (steps_stated ks (map w gs)).
Proof. intros W. induction ks as [|k ks IH]; intros [|g gs']; cbn [plans_of steps_stated map]; auto.
  now rewrite map_app, repeat_map, IH, W. Qed.
Lemma all_stated (w : gaussian_step -> stated) ks s : forall gs, In s (steps_stated ks (map w gs)) -> exists g, s = w g.
Proof. induction ks as [|k ks IH]; intros [|g gs']; cbn [steps_stated map]; intros H; try easy. apply in_app_or in H as [H|H]; [|eauto].
  apply repeat_spec in H. eauto. Qed.
Theorem sampled_gaussian_private : forall test u v, (forall outputs, 0 <= test outputs <= 1) ->
  expect (space d) first test (length plans) [] u -> expect (space d) second test (length plans) [] v ->
  u <= exp (epsilon_of p) * v + IZR (bound p) / unit_of p.
Proof. intros test u v Ht HU HV. rewrite (plans_stated Gaussian) in planned by reflexivity.
  destruct (Permutation_map_inv _ _ (Permutation_sym planned)) as [all [E R]].
  rewrite E, map_length in HU, HV. assert (J : judge (Some o) p (map Some (map Gaussian gs)) = true) by (now rewrite map_map).
  apply (steps_private (space d) first second o p (map Gaussian gs) all above some_kind J R) with (test := test); auto.
  intros s h NT O Sa. destruct (all_stated Gaussian _ s gs (Permutation_in s (Permutation_sym R) (nth_error_In _ _ NT))) as [g ->].
  destruct Sa as [Hq Hs]. assert (V := Rinv_0_lt_compat _ Hs). unfold first, second, mechanism. rewrite E, nth_error_map, NT. cbn [option_map plan_stated plan_of rate noise].
  cbn [curve_of order_of] in *. rewrite O. apply (sampled_within (space d) o (q_of g) (stick (/ sigma_of g))); auto.
  - intros; now apply stick_ge0.
  - intros; now apply normals_ge0.
  - intros; now apply normals_int.
  - intros b z a. apply (gaussian_batches (total (query h)) (sigma_of g) (sigma_of g) a (total_change _ (bounded_query h)) ltac:(lra) b z).
  - intros b z a. apply (gaussian_batches (total (query h)) (sigma_of g) (sigma_of g) a (total_change _ (bounded_query h)) ltac:(lra) b z). Qed.
End Private.

(* A record that contributes nothing is as good as none: so zeroing one out is covered, too. *)
Lemma total_ghost {X d} (f : X -> vec d) ghost b : f ghost = zeros d -> total f (ghost :: b) = total f b.
Proof. intros H. cbn [total]. rewrite H. apply plus_zeros. Qed.
Lemma sampled_ghost {X d} (f : X -> vec d) q sigma ghost D y : f ghost = zeros d ->
  sampled q (fun batch => normals sigma (total f batch)) (ghost :: D) y = sampled q (fun batch => normals sigma (total f batch)) D y.
Proof. intros H. rewrite sampled_cons. unfold sampled, mix. apply S_ext. intros b. rewrite total_ghost by auto. ring. Qed.
Theorem mechanism_ghost {X d} plans (query : list (vec d) -> X -> vec d) ghost : (forall h, query h ghost = zeros d) ->
  forall D h y, mechanism plans query (ghost :: D) h y = mechanism plans query D h y.
Proof. intros H D h y. unfold mechanism. destruct (nth_error plans (length h)); auto. now apply sampled_ghost. Qed.

(* ---------- one kind of steps, a record removed or added ---------- *)
Lemma expect_ext {T} (A : integral T) (P Q : list T -> T -> R) test k : forall h v,
  (forall h' y, (length h' < length h + k)%nat -> P h' y = Q h' y) -> expect A P test k h v -> expect A Q test k h v.
Proof. induction k as [|k IH]; intros h v H HE; cbn [expect] in *; auto. destruct HE as [F [HF IF]]. exists F. split.
  - intros y. apply IH; [|auto]. intros h' z Hl. apply H. cbn [length] in Hl. lia.
  - apply (int_ext A (fun y => P h y * F y)); auto. intros y. now rewrite H by lia. Qed.
(* The program accepts T steps at rate q with noise sigma, for a record o, at this eps with a bound of at most this delta. *)
Definition decides (T : positive) (q sigma eps delta : R) (o : order) (p : problem) (g : gaussian_step) :=
  judge (Some o) p [gaussian g] = true /\ direction p = Above /\ map count (kinds p) = [Zpos T] /\ q_of g = q /\ sigma_of g = sigma
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
Theorem dp_sgd_ghost ghost : (forall h, gradient h ghost = zeros d) -> forall D h y, dp_sgd (ghost :: D) h y = dp_sgd D h y.
Proof. intros H D h y. now apply sampled_ghost. Qed.
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
Definition shows (p : problem) (g : gaussian_step) := judge (Some (in_order g)) p [gaussian g] = true
  /\ (map count (kinds p) = [1%Z] \/ kinds p = []) /\ q_of g = 1.
Lemma curve_one (o : order) m e : curve o 1 m (exp e) = stick m (exp e).
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
Lemma exchanged {n} (a b t : vec n) : plus_vec a t = plus_vec (plus_vec b t) (plus_vec a (opp_vec b)).
Proof. induction n as [|n IH]; [reflexivity|]. cbn. rewrite <- IH. f_equal; ring. Qed.
Section Plain.
Context {X : Type} {d : nat} (query : list (vec d) -> X -> vec d) (noises : list R).
Hypothesis bounded : forall h z, norm (query h z) <= 1.
Hypothesis noisy : Forall (Rlt 0) noises.
(* the density of the next output *)
Definition plain (D : list X) (h : list (vec d)) := normals (nth (length h) noises 1) (total (query h) D).
Variables (p : problem) (g : gaussian_step).
Hypothesis shown : shows p g.
Hypothesis above : direction p = Above.
Lemma norm_plus {n} (a b : vec n) : norm (plus_vec a b) <= norm a + norm b.
Proof. unfold norm. assert (A := squares_ge0 a). assert (B := squares_ge0 b).
  assert (DOT : exists k, squares (plus_vec a b) = squares a + 2 * k + squares b /\ k * k <= squares a * squares b).
  { clear A B. induction n as [|n IH]; [exists 0; simpl; lra|]. destruct (IH (snd a) (snd b)) as [k [E K]].
    exists (fst a * fst b + k). cbn [squares plus_vec fst snd]. rewrite E. split; [ring|].
    assert (A := squares_ge0 (snd a)). assert (B := squares_ge0 (snd b)). set (s := squares (snd a)) in *. set (t := squares (snd b)) in *.
    assert (C : 2 * (fst a * fst b * k) <= fst a * fst a * t + fst b * fst b * s).
    { set (x := fst a) in *. set (y := fst b) in *. assert (U := Rle_0_sqr (x * sqrt t - y * sqrt s)). unfold Rsqr in U.
      assert (ST := sqrt_sqrt t B). assert (SS := sqrt_sqrt s A). assert (KS : Rabs k <= sqrt s * sqrt t).
      { rewrite <- sqrt_mult by auto. rewrite <- sqrt_Rsqr_abs. apply sqrt_le_1_alt. exact K. }
      assert (XY : x * y * k <= Rabs (x * y) * (sqrt s * sqrt t)).
      { eapply Rle_trans; [apply Rle_abs|]. rewrite Rabs_mult. apply Rmult_le_compat_l; [apply Rabs_pos|auto]. }
      assert (U2 := Rle_0_sqr (Rabs x * sqrt t - Rabs y * sqrt s)). unfold Rsqr in U2. rewrite Rabs_mult in XY.
      assert (AX : Rabs x * Rabs x = x * x) by (rewrite <- Rabs_mult; apply Rabs_pos_eq; apply Rle_0_sqr).
      assert (AY : Rabs y * Rabs y = y * y) by (rewrite <- Rabs_mult; apply Rabs_pos_eq; apply Rle_0_sqr).
      replace ((Rabs x * sqrt t - Rabs y * sqrt s) * (Rabs x * sqrt t - Rabs y * sqrt s))
        with (Rabs x * Rabs x * (sqrt t * sqrt t) + Rabs y * Rabs y * (sqrt s * sqrt s) - 2 * (Rabs x * Rabs y * (sqrt s * sqrt t))) in U2 by ring.
      rewrite AX, AY, ST, SS in U2. lra. }
    replace ((fst a * fst b + k) * (fst a * fst b + k)) with (fst a * fst a * (fst b * fst b) + 2 * (fst a * fst b * k) + k * k) by ring. lra. }
  destruct DOT as [k [E K]]. rewrite E. assert (SA := sqrt_pos (squares a)). assert (SB := sqrt_pos (squares b)).
  rewrite <- (sqrt_square (sqrt (squares a) + sqrt (squares b))) by lra. apply sqrt_le_1_alt.
  assert (KS : k <= sqrt (squares a) * sqrt (squares b)).
  { eapply Rle_trans; [apply Rle_abs|]. rewrite <- sqrt_mult by auto. rewrite <- sqrt_Rsqr_abs. apply sqrt_le_1_alt. exact K. }
  assert (EA := sqrt_sqrt _ A). assert (EB := sqrt_sqrt _ B). nra. Qed.
Lemma total_norm (f : X -> vec d) group : (forall x, norm (f x) <= 1) -> norm (total f group) <= INR (length group).
Proof. intros H. induction group as [|x l IH].
  - cbn [total length INR]. unfold norm. replace (squares (zeros d)) with 0; [rewrite sqrt_0; lra|]. generalize d as n. intros n. induction n as [|n IHn]; simpl; [auto|rewrite <- IHn; ring].
  - cbn [total length]. rewrite S_INR. eapply Rle_trans; [apply norm_plus|]. specialize (H x). lra. Qed.
Lemma total_app (f : X -> vec d) a b : total f (a ++ b) = plus_vec (total f b) (total f a).
Proof. induction a as [|x a IH]; cbn [total app].
  - now rewrite plus_comm, plus_zeros.
  - now rewrite IH, plus_swap. Qed.
(* data sets that differ in two groups of records *)
Theorem gaussian_group_private (group group' : list X) : let m := INR (length group + length group') in
  S (fun s => m * / s * (m * / s)) noises <= / sigma_of g * / sigma_of g ->
  forall D test u v, (forall outputs, 0 <= test outputs <= 1) ->
  expect (space d) (plain (group ++ D)) test (length noises) [] u -> expect (space d) (plain (group' ++ D)) test (length noises) [] v ->
  u <= exp (epsilon_of p) * v + IZR (bound p) / unit_of p.
Proof. intros m HS D test u v Ht HU HV. refine (shifted_private m noises p g (fun h => total (query h) (group ++ D))
    (fun h => total (query h) (group' ++ D)) test u v shown above noisy HS _ Ht HU HV).
  intros h. exists (plus_vec (total (query h) group) (opp_vec (total (query h) group'))). split.
  - eapply Rle_trans; [apply norm_plus|]. unfold m. rewrite plus_INR. apply Rplus_le_compat; [now apply total_norm|].
    unfold norm. rewrite squares_opp. now apply total_norm.
  - rewrite !total_app. rewrite (plus_comm (total (query h) D)), (plus_comm (total (query h) D) (total (query h) group')). apply exchanged. Qed.
Theorem gaussian_private : S (fun s => / s * / s) noises <= / sigma_of g * / sigma_of g ->
  forall (x : X) D test u v, (forall outputs, 0 <= test outputs <= 1) ->
  expect (space d) (plain (x :: D)) test (length noises) [] u -> expect (space d) (plain D) test (length noises) [] v ->
  let eps := epsilon_of p in let delta := IZR (bound p) / unit_of p in u <= exp eps * v + delta /\ v <= exp eps * u + delta.
Proof. intros HS x D test u v Ht HU HV. assert (HS1 : S (fun s => INR 1 * / s * (INR 1 * / s)) noises <= / sigma_of g * / sigma_of g).
  { rewrite (S_ext _ (fun s => / s * / s)) by (intros; simpl; ring). exact HS. }
  split; [exact (gaussian_group_private [x] [] HS1 D test u v Ht HU HV)|exact (gaussian_group_private [] [x] HS1 D test v u Ht HV HU)]. Qed.
(* one record in place of another *)
Theorem gaussian_replace_private : S (fun s => 2 * / s * (2 * / s)) noises <= / sigma_of g * / sigma_of g ->
  forall (x x' : X) D test u v, (forall outputs, 0 <= test outputs <= 1) ->
  expect (space d) (plain (x :: D)) test (length noises) [] u -> expect (space d) (plain (x' :: D)) test (length noises) [] v ->
  u <= exp (epsilon_of p) * v + IZR (bound p) / unit_of p.
Proof. intros HS x x' D. exact (gaussian_group_private [x] [x'] HS D). Qed.
(* one record in place of another that contributes nothing *)
Theorem gaussian_ghost ghost : (forall h, query h ghost = zeros d) -> forall D h, plain (ghost :: D) h = plain D h.
Proof. intros H D h. unfold plain. cbn [total]. now rewrite H, plus_zeros. Qed.
End Plain.
