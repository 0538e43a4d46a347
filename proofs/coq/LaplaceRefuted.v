(* 17b. Laplace noise from below, to the mechanism.

   Two data sets, a number that one record changes by as much as is stated, and an event of all outputs, whose
   probabilities exist as iterated Riemann integrals and differ by at least what was accepted (laplace_not_private).  By
   the same way as in Refuted.v: thresholds make finitely many classes of outputs, on which the event is the best one. *)
From Coquelicot Require Import Coquelicot.
Require Import Reals ZArith List Lra Lia Bool Permutation.
From VerifiedDP Require Import Law HockeyStick Checker Link Integral Normal Space Enclosures SampledGaussian Events Guaranteed Laplace Extract Mechanism Replace Mixed Refuted.
Import ListNotations.
Open Scope R_scope.

(* ---------- the events ---------- *)
(* a density beyond a threshold *)
Lemma beyond_line (f : R -> R) t v : (forall a b, ex_RInt f a b) -> (forall e, 0 < e -> exists M, 0 <= M /\ forall b, M <= b -> Rabs (RInt f t b - v) <= e) ->
  is_line (fun x => beyond t x * f x) v.
Proof. intros X L. split; [now apply beyond_ex|]. intros e He. destruct (L e He) as [M [M0 HM]]. exists (M + Rabs t). assert (A := Rle_abs t). assert (B := Rle_abs (- t)). rewrite Rabs_Ropp in B.
  split; [lra|]. intros a b Ha Hb. assert (BX := beyond_ex f t X). assert (C := RInt_Chasles (fun x => beyond t x * f x) a t b (BX _ _) (BX _ _)). unfold plus in C; simpl in C. rewrite <- C.
  rewrite (RInt_ext (fun x => beyond t x * f x) (fun _ => 0) a t).
  2:{ intros x. rewrite Rmin_left, Rmax_right by lra. intros [_ H]. unfold beyond. destruct (Rlt_dec t x); lra. }
  rewrite (RInt_ext (fun x => beyond t x * f x) f t b).
  2:{ intros x. rewrite Rmin_left, Rmax_right by lra. intros [H _]. unfold beyond. destruct (Rlt_dec t x); lra. }
  rewrite RInt_const. unfold scal; simpl; unfold mult; simpl. rewrite Rmult_0_r, Rplus_0_l. apply HM. lra. Qed.
Definition lap_std (x : R) : R := exp (- Rabs x) / 2.
Lemma lap_std_ge0 x : 0 <= lap_std x.
Proof. unfold lap_std. assert (X := exp_pos (- Rabs x)). lra. Qed.
Lemma lap_line c : is_line (fun x => lap_std (x - c)) 1.
Proof. replace 1 with (/ 2 * 2) by field. apply (line_ext (fun x => / 2 * exp (- Rabs (x - c)))); [intros; unfold lap_std; field|]. apply line_scal, exp_abs_shifted. Qed.
Lemma lap_beyond t c : is_line (fun x => beyond t x * lap_std (x - c)) (if Rle_dec t c then 1 - exp (t - c) / 2 else exp (c - t) / 2).
Proof. assert (PE : forall x y, ex_RInt (fun x => exp (- Rabs (x - c))) x y) by (intros; apply (ex_RInt_continuous (fun x => exp (- Rabs (x - c)))); intros; apply exp_abs_cont).
  set (v := if Rle_dec t c then 2 - exp (t - c) else exp (c - t)).
  assert (K : is_line (fun x => beyond t x * exp (- Rabs (x - c))) v).
  { apply beyond_line; auto. intros e He. exists (Rmax 0 (Rmax (Rmax t c) (c - ln e))). split; [apply Rmax_l|]. intros b Hb.
    assert (B1 := Rmax_r 0 (Rmax (Rmax t c) (c - ln e))). assert (B2 := Rmax_l (Rmax t c) (c - ln e)). assert (B3 := Rmax_r (Rmax t c) (c - ln e)). assert (B4 := Rmax_l t c). assert (B5 := Rmax_r t c).
    assert (SM : exp (c - b) <= e) by (apply Rle_trans with (exp (ln e)); [apply exp_le; lra|rewrite exp_ln; lra]). assert (P := exp_pos (c - b)).
    unfold v. destruct (Rle_dec t c) as [G|G].
    - assert (C := RInt_Chasles (fun x => exp (- Rabs (x - c))) t c b (PE _ _) (PE _ _)). unfold plus in C; simpl in C. rewrite <- C, exp_before, exp_after by lra.
      replace (c - c) with 0 by ring. rewrite exp_0. apply Rabs_le. lra.
    - rewrite exp_after by lra. apply Rabs_le. lra. }
  apply (line_scal (/ 2)) in K. replace (if Rle_dec t c then 1 - exp (t - c) / 2 else exp (c - t) / 2) with (/ 2 * v) by (unfold v; destruct (Rle_dec t c); field).
  eapply line_ext; [|exact K]. intros x. unfold lap_std. cbv beta. field. Qed.
(* with t below 0: all outputs; above r: none *)
Definition lap_event (r t x : R) : R := if Rlt_dec t 0 then 1 else if Rle_dec t r then beyond t x else 0.
Theorem lap_gain_int r t a : is_line (fun x => lap_event r t x * (lap_std (x - r) - a * lap_std (x - 0))) (lap_gain r t a).
Proof. unfold lap_event, lap_gain. destruct (Rlt_dec t 0) as [T|T]; [|destruct (Rle_dec t r) as [R1|R1]].
  - replace (1 - a) with (1 + - a * 1) by ring. apply (line_ext (fun x => lap_std (x - r) + - a * lap_std (x - 0))); [intros; ring|]. apply line_plus; [|apply line_scal]; apply lap_line.
  - assert (K1 := lap_beyond t r). assert (K2 := lap_beyond t 0). destruct (Rle_dec t r); [|lra].
    assert (V2 : (if Rle_dec t 0 then 1 - exp (t - 0) / 2 else exp (0 - t) / 2) = exp (- t) / 2).
    { destruct (Rle_dec t 0) as [Z|Z]; [|now rewrite Rminus_0_l]. replace t with 0 by lra. rewrite Rminus_0_r, Ropp_0, exp_0. field. }
    rewrite V2 in K2. replace (1 - exp (t - r) / 2 - a * (exp (- t) / 2)) with (1 - exp (t - r) / 2 + - a * (exp (- t) / 2)) by ring.
    apply (line_ext (fun x => beyond t x * lap_std (x - r) + - a * (beyond t x * lap_std (x - 0)))); [intros; ring|]. apply line_plus; [exact K1|]. apply line_scal. exact K2.
  - apply (line_ext (fun _ => 0)); [intros; ring|apply line_zero]. Qed.
Lemma lap_event_class r t ts : In t ts -> exists f, (forall b, 0 <= f b <= 1) /\ forall x, f (class ts x) = lap_event r t x.
Proof. intros I. destruct (event_class Remove t ts I) as [f [F1 F2]]. unfold lap_event. destruct (Rlt_dec t 0); [exists (fun _ => 1); split; intros; lra|].
  destruct (Rle_dec t r); [exists f; auto|exists (fun _ => 0); split; intros; lra]. Qed.

(* ---------- all steps ---------- *)
(* the number that one record changes by as much as is stated: r scales of the noise *)
Definition number (b r : R) (z : bool) : R := if z then r * b else 0.
(* What the program found of a step: its law is below, by the events of these thresholds. *)
Definition lap_reached (ts : list R) (s : guaranteed_step * law) := let (g, B) := s in
  g_source g = Laplace_noise /\ 0 <= g_eps g /\ nonneg B /\ tot B <= 1 /\ forall e, delta e B <= 0 \/ exists t, In t ts /\ delta e B <= lap_gain (g_eps g) t (exp e).
Lemma lap_wider ts ts' s : incl ts ts' -> lap_reached ts s -> lap_reached ts' s.
Proof. intros I. destruct s as [g B]. intros [S [E [N [T H]]]]. repeat (split; auto). intros e. destruct (H e) as [Z|[t [T1 T2]]]; [now left|right]. exists t. auto. Qed.
Section NotPrivate.
Variables (o : order) (p : problem) (gs plans : list guaranteed_step) (scale : R).
Hypothesis below : direction p = Below.
Hypothesis some_kind : kinds p <> [].
Hypothesis judged : judge (Some o) p (map (fun g => Some (Guarantee g)) gs) = true.
Hypothesis planned : Permutation (steps_stated (kinds p) (map Guarantee gs)) (map Guarantee plans).
Hypothesis scaled_noise : 0 < scale.
Let points (g : guaranteed_step) (h_num h_den : Z) (v : ilaw) := map (fun t => IZR t / IZR (unit (g_precision g))) (laplace_tests g h_num h_den v).
Fixpoint all_points (ks : list kind) (gs : list guaranteed_step) : list R :=
  match ks, gs with k :: ks, g :: gs => points g (h_num p) (h_den p) (step_law k) ++ all_points ks gs | _, _ => [] end.
Let ts := all_points (kinds p) gs.
Let l := vectors (length ts).
Lemma lap_paired : exists steps, Forall (lap_reached ts) steps /\ map Guarantee (map fst steps) = steps_stated (kinds p) (map Guarantee gs) /\ map snd steps = steps_of p.
Proof. assert (F := judged). rewrite judge_below in F by auto. apply andb_prop in F as [_ F]. unfold steps_of, ts. clear - F. revert F. generalize (kinds p) as ks, gs as gs'. intros ks gs'. revert ks.
  induction gs' as [|g gs' IH]; intros [|k ks] F; try discriminate.
  - exists []. auto.
  - cbn [all_found map] in F. apply andb_prop in F as [F R]. destruct (IH ks R) as [steps [S1 [S2 S3]]]. unfold found_below in F. apply andb_prop in F as [_ C].
    destruct (covers_laplace_below_ok _ _ _ _ _ C) as [C1 [C2 [C3 [C4 C5]]]].
    exists (repeat (g, law_of (grid_step p) (unit_of p) (step_law k)) (Z.to_nat (count k)) ++ steps).
    cbn [steps_stated laws_of flat_map map all_points]. rewrite !map_app, !repeat_map, S2, S3. split; [|auto]. apply Forall_app; split.
    + apply Forall_forall. intros s Hs. apply repeat_spec in Hs; subst s. split; [exact C1|split; [exact C2|split; [exact C3|split; [exact C4|]]]].
      intros e. destruct (C5 e) as [Z|[t [T1 T2]]]; [now left|right]. exists (IZR t / IZR (unit (g_precision g))). split; [|exact T2]. apply in_or_app. left. unfold points.
      exact (in_map (fun t => IZR t / IZR (unit (g_precision g))) _ _ T1).
    + eapply Forall_impl; [|exact S1]. intros s. apply lap_wider. intros t Ht. apply in_or_app. now right. Qed.
(* the density of the next output, and what is looked at of it *)
Definition lap_mechanism (z : bool) (h : list R) (y : R) : R :=
  match nth_error plans (length h) with Some g => laplace scale (number scale (g_eps g) z) y | None => 0 end.
Let look (y : R) := class ts (y / scale).
Definition lap_classed (s : guaranteed_step * law) (pr : (list bool -> R) * (list bool -> R)) := let (g, B) := s in let (f, k) := pr in
  lap_reached ts (g, B) /\ (forall b, 0 <= f b) /\ (forall b, 0 <= k b) /\ S f l = 1 /\
  (forall t, is_line (fun y => laplace scale (number scale (g_eps g) true) y * t (look y)) (S (fun b => f b * t b) l)) /\
  (forall t, is_line (fun y => laplace scale (number scale (g_eps g) false) y * t (look y)) (S (fun b => k b * t b) l)) /\
  forall e, delta e B <= HS f k e l.
Lemma laplace_scaled r z y : laplace scale (number scale r z) y = / scale * lap_std ((y - 0) / scale - (if z then r else 0)).
Proof. unfold laplace, lap_std, number. do 4 f_equal. f_equal. destruct z; field; lra. Qed.
Lemma lap_classes s : lap_reached ts s -> exists pr, lap_classed s pr.
Proof. destruct s as [g B]. intros R. assert (R' := R). destruct R' as [SO [E0 [NB [TB HB]]]]. set (r := g_eps g) in *.
  destruct (binned ts (fun x => lap_std (x - r))) as [f [f0 HF]]; [split; [intros; apply lap_std_ge0|exists 1; apply lap_line]|].
  destruct (binned ts (fun x => lap_std (x - 0))) as [k [k0 HK]]; [split; [intros; apply lap_std_ge0|exists 1; apply lap_line]|].
  exists (f, k). unfold lap_classed. split; [exact R|split; [exact f0|split; [exact k0|]]]. split; [|split; [|split]].
  - assert (K := HF (fun _ => 1)). fold l in K. rewrite (S_ext _ f) in K by (intros; ring). apply (int_unique line _ _ _ K). apply (line_ext (fun x => lap_std (x - r))); [intros; ring|apply lap_line].
  - intros t. fold r. assert (K := rescaled _ scale 0 _ scaled_noise (HF t)). fold l in K. eapply line_ext; [|exact K]. intros y. cbv beta. rewrite laplace_scaled. unfold look. cbv iota. rewrite !Rminus_0_r. ring.
  - intros t. fold r. assert (K := rescaled _ scale 0 _ scaled_noise (HK t)). fold l in K. eapply line_ext; [|exact K]. intros y. cbv beta. rewrite laplace_scaled. unfold look. cbv iota. rewrite !Rminus_0_r. ring.
  - intros e. destruct (HB e) as [Z|[t [T1 T2]]]; [eapply Rle_trans; [exact Z|]; apply S_ge0; intros; apply pos_ge0|]. eapply Rle_trans; [exact T2|].
    destruct (lap_event_class r t ts T1) as [ev [V1 V2]]. assert (G := lap_gain_int r t (exp e)).
    assert (K : is_line (fun x => lap_std (x - r) * ev (class ts x) - exp e * (lap_std (x - 0) * ev (class ts x))) (S (fun b => f b * ev b) l - exp e * S (fun b => k b * ev b) l)).
    { apply (int_minus line); [apply HF|]. apply (int_scal line), HK. }
    assert (EQ : lap_gain r t (exp e) = S (fun b => f b * ev b) l - exp e * S (fun b => k b * ev b) l).
    { apply (int_unique line _ _ _ G). eapply line_ext; [|exact K]. intros x. cbv beta. rewrite V2. ring. }
    rewrite EQ, <- S_scal. replace (S (fun b => f b * ev b) l - S (fun b => exp e * (k b * ev b)) l) with (S (fun b => (f b - exp e * k b) * ev b) l).
    + apply S_le. intros b. specialize (V1 b). assert (Y := pos_ge0 (f b - exp e * k b)). assert (Z : f b - exp e * k b <= pos (f b - exp e * k b)) by apply Rmax_r. nra.
    + rewrite (S_ext _ (fun b => f b * ev b + -1 * (exp e * (k b * ev b)))) by (intros; ring). rewrite S_plus, (S_scal (-1)). ring. Qed.
Lemma all_lap_classes steps : Forall (lap_reached ts) steps -> exists prs, Forall2 lap_classed steps prs.
Proof. intros F. induction F as [|s steps R F [prs IH]]; [exists []; constructor|]. destruct (lap_classes s R) as [pr K]. exists (pr :: prs). now constructor. Qed.
Section Found.
Variables (all : list (guaranteed_step * law)) (prs : list ((list bool -> R) * (list bool -> R))).
Hypothesis HC : Forall2 lap_classed all prs.
Hypothesis HP : plans = map fst all.
Let P' (h : list (list bool)) := match nth_error prs (length h) with Some pr => fst pr | None => fun _ => 0 end.
Let Q' (h : list (list bool)) := match nth_error prs (length h) with Some pr => snd pr | None => fun _ => 0 end.
Lemma lap_lifted z h f : is_line (fun y => lap_mechanism z h y * f (look y)) (S (fun b => (if z then P' else Q') (map look h) b * f b) l).
Proof. assert (K := in_step _ _ _ HC (length h)). destruct z; unfold lap_mechanism, P', Q'; rewrite map_length, HP, nth_error_map;
  (destruct (nth_error all (length h)) as [[g B]|], (nth_error prs (length h)) as [[u v]|]; try easy; cbn [option_map fst snd];
    [destruct K as [_ [_ [_ [_ [K1 [K2 _]]]]]]; auto
    |rewrite (S_ext _ (fun b => 0 * 0)) by (intros; ring); rewrite S_scal, Rmult_0_l; apply (line_ext (fun _ => 0)); [intros; ring|apply line_zero]]). Qed.
Lemma lap_rest rest rprs : Forall2 lap_classed rest rprs -> forall before h, prs = before ++ rprs -> length h = length before -> all_attained l P' Q' (map snd rest) h.
Proof. intros F. induction F as [|[g B] [f k] rest rprs C F IH]; intros before h E L; cbn [map all_attained]; auto. split.
  - assert (NT : nth_error prs (length h) = Some (f, k)) by (rewrite E, L, nth_error_app2, Nat.sub_diag by lia; reflexivity).
    unfold P', Q'. rewrite NT. cbn [fst snd]. destruct C as [[_ [_ [NB [TB _]]]] [F0 [G0 [F1 [_ [_ HB]]]]]]. repeat split; auto; apply NB.
  - intros x. apply (IH (before ++ [(f, k)])); [rewrite <- app_assoc; exact E|rewrite app_length; cbn [length]; lia]. Qed.
Lemma lap_event_found e : exists test u v, (forall outputs, test outputs = 0 \/ test outputs = 1)
  /\ expect line (lap_mechanism true) test (length plans) [] u /\ expect line (lap_mechanism false) test (length plans) [] v
  /\ delta e (compose (map snd all)) <= u - exp e * v.
Proof. assert (A := attained l P' Q' (map snd all) [] e (lap_rest all prs HC [] [] eq_refl eq_refl)). rewrite map_length in A.
  assert (LP : length plans = length all) by (rewrite HP; apply map_length). rewrite LP. set (t := best P' Q' (length all) [] e) in *.
  exists (fun outputs => t (map look outputs)), (mean l P' t (length all) []), (mean l Q' t (length all) []).
  split; [intros; apply best_event|]. split; [|split; [|exact A]].
  - exact (lifted line look l _ P' (lap_lifted true) t (length all) []).
  - exact (lifted line look l _ Q' (lap_lifted false) t (length all) []). Qed.
End Found.
(* Steps that add Laplace noise of some scale to a number that one record changes by as many scales as is stated. *)
Theorem laplace_not_private : exists (query : list R -> bool -> R) test u v,
  (forall h g, nth_error plans (length h) = Some g -> Rabs (query h true - query h false) <= g_eps g * scale) /\
  (forall outputs, test outputs = 0 \/ test outputs = 1) /\
  expect line (fun h => match nth_error plans (length h) with Some _ => laplace scale (query h true) | None => fun _ => 0 end) test (length plans) [] u /\
  expect line (fun h => match nth_error plans (length h) with Some _ => laplace scale (query h false) | None => fun _ => 0 end) test (length plans) [] v /\
  exp (epsilon_of p) * v + IZR (bound p) / unit_of p <= u.
Proof. destruct lap_paired as [steps [C [SP SL]]]. rewrite <- SP in planned. apply Permutation_map_inv in planned as [pl [E0 P0]].
  assert (EQ : map fst steps = pl) by (apply (map_one Guarantee (fun x y E => f_equal (fun s => match s with Guarantee g => g | _ => x end) E) (map fst steps) pl E0)). rewrite <- EQ in P0.
  destruct (Permutation_map_inv _ _ P0) as [all [E Q]]. assert (C' : Forall (lap_reached ts) all).
  { rewrite Forall_forall in *. intros s Hs. apply C. now apply (Permutation_in s (Permutation_sym Q)). }
  destruct (all_lap_classes all C') as [prs HC]. destruct (lap_event_found all prs HC E (epsilon_of p)) as [test [u [v [T [U [V K]]]]]].
  set (query := fun (h : list R) z => match nth_error plans (length h) with Some g => number scale (g_eps g) z | None => 0 end).
  assert (EX : forall z w, expect line (lap_mechanism z) test (length plans) [] w ->
    expect line (fun h => match nth_error plans (length h) with Some _ => laplace scale (query h z) | None => fun _ => 0 end) test (length plans) [] w).
  { intros z w. apply expect_ext. intros h y _. unfold lap_mechanism, query. now destruct (nth_error plans (length h)). }
  exists query, test, u, v. split.
  - intros h g NT. unfold query, number. rewrite NT. assert (G0 : 0 <= g_eps g).
    { assert (I := nth_error_In _ _ NT). rewrite E in I. apply in_map_iff in I as [[g' B] [E1 I]]. cbn [fst] in E1. subst g'. rewrite Forall_forall in C'. exact (proj1 (proj2 (C' _ I))). }
    rewrite Rminus_0_r, Rabs_pos_eq; [lra|apply Rmult_le_pos; lra].
  - split; [exact T|]. split; [now apply EX|]. split; [now apply EX|].
    assert (AC : accept_N p = true) by (assert (F := judged); rewrite judge_below in F by auto; now apply andb_prop in F as [? _]).
    assert (B := accepted_below p AC below). unfold composed in B. rewrite <- SL in B.
    assert (SM := proj1 (compose_permutation _ _ (Permutation_map snd Q)) (epsilon_of p)). rewrite SM in B. lra. Qed.
End NotPrivate.
