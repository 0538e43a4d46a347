(* 17b. Laplace and discrete noise from below, to the mechanism.

   Two data sets, a number that one record changes by as much as is stated, and an event of all outputs, whose
   probabilities exist as iterated integrals (as sums of whole numbers) and differ by at least what was accepted
   (laplace_not_private, discrete_not_private).  By the same way as in Refuted.v: thresholds make finitely many classes of
   outputs, on which the event is the best one (noise_event). *)
From Coquelicot Require Import Coquelicot.
Require Import Reals ZArith List Lra Lia Bool Permutation.
From VerifiedDP Require Import Law HockeyStick Checker Link Integral Normal Space Enclosures SampledGaussian Events Discrete Guaranteed Laplace Extract Mechanism Mixed Refuted.
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

(* ---------- steps of noise ---------- *)
Section Noisy.
Context {T : Type} (A : integral T) (P Q : guaranteed_step -> T -> R) (cuts_of : kind -> guaranteed_step -> list (T -> bool)).
Variables (o : order) (p : problem) (gs plans : list guaranteed_step).
Hypothesis below : direction p = Below.
Hypothesis some_kind : kinds p <> [].
Hypothesis judged : judge (Some o) p (map (fun g => Some (Guarantee g)) gs) = true.
Hypothesis planned : Permutation (steps_stated (kinds p) (map Guarantee gs)) (map Guarantee plans).
Hypothesis cut : forall k g, Forall (cuts_well A) (cuts_of k g).
(* What the program found of a kind: its law is below, by events of one cut. *)
Definition by_cuts (k : kind) (g : guaranteed_step) (B : law) := nice A (P g) /\ nice A (Q g) /\ is_int A (P g) 1 /\ nonneg B /\ tot B <= 1 /\
  forall e, delta e B <= 0 \/ exists c yes no v, In c (cuts_of k g) /\ 0 <= yes <= 1 /\ 0 <= no <= 1 /\
    is_int A (fun y => (if c y then yes else no) * (P g y - exp e * Q g y)) v /\ delta e B <= v.
Hypothesis found : forall k g, In g gs -> found_below (Some o) p k (Guarantee g) = true -> by_cuts k g (law_of (grid_step p) (unit_of p) (step_law k)).
Lemma cut_classed cuts k g B : Forall (cuts_well A) cuts -> incl (cuts_of k g) cuts -> by_cuts k g B -> classed A (classes cuts) (vectors (length cuts)) P Q (g, B).
Proof. intros W I [NP [NQ [P1 [NB [TB HB]]]]]. destruct (binned A cuts W _ NP) as [f [F0 F]]. destruct (binned A cuts W _ NQ) as [h [H0 H]].
  exists (f, h). split; [auto|split; [auto|split; [|split; [auto|split; [auto|split; [auto|split; [auto|]]]]]]].
  - assert (K := F (fun _ => 1)). rewrite (S_ext _ f) in K by (intros; ring). apply (int_unique A _ _ _ K). apply (int_ext A (P g)); [intros; ring|exact P1].
  - intros e. destruct (HB e) as [Z|[c [yes [no [v [C [Y [N [V L]]]]]]]]]; eapply Rle_trans; [exact Z|apply S_ge0; intros; apply pos_ge0|exact L|].
    destruct (cut_class c cuts (I _ C) yes no) as [ev [E1 E2]]. refine (class_gain A (classes cuts) (vectors (length cuts)) P Q f h ev (exp e) v g F H _ _).
    + intros b. destruct (E1 b) as [-> | ->]; auto.
    + eapply (int_ext A); [|exact V]. intros y. cbv beta. now rewrite E2. Qed.
Fixpoint all_cuts (ks : list kind) (gs : list guaranteed_step) : list (T -> bool) :=
  match ks, gs with k :: ks, g :: gs => cuts_of k g ++ all_cuts ks gs | _, _ => [] end.
Let cuts := all_cuts (kinds p) gs.
Lemma noise_paired : exists steps, Forall (classed A (classes cuts) (vectors (length cuts)) P Q) steps /\ map Guarantee (map fst steps) = steps_stated (kinds p) (map Guarantee gs) /\ map snd steps = steps_of p.
Proof. assert (W : Forall (cuts_well A) cuts).
  { unfold cuts. generalize (kinds p) as ks, gs as gs'. induction ks as [|k ks IH]; intros [|g gs']; cbn [all_cuts]; auto. apply Forall_app. auto. }
  assert (F := judged). rewrite judge_below in F by auto. apply andb_prop in F as [_ F]. unfold steps_of. assert (I : incl (all_cuts (kinds p) gs) cuts) by apply incl_refl. clearbody cuts.
  assert (M := found). revert F I M. generalize (kinds p) as ks, gs as gs'. intros ks gs'. revert ks. induction gs' as [|g gs' IH]; intros [|k ks] F I M; try discriminate.
  - exists []. auto.
  - cbn [all_found map] in F. apply andb_prop in F as [F R]. cbn [all_cuts] in I.
    destruct (IH ks R (fun x Hx => I x (in_or_app _ _ _ (or_intror Hx))) (fun k g H => M k g (or_intror H))) as [steps [S1 [S2 S3]]].
    exists (repeat (g, law_of (grid_step p) (unit_of p) (step_law k)) (Z.to_nat (count k)) ++ steps).
    cbn [steps_stated laws_of flat_map map]. rewrite !map_app, !repeat_map, S2, S3. split; [|auto]. apply Forall_app; split; auto. apply Forall_forall. intros s Hs. apply repeat_spec in Hs; subst s.
    apply (cut_classed cuts k); auto; [|apply M; [now left|exact F]]. intros x Hx. apply I. apply in_or_app. auto. Qed.
Theorem noise_event : exists test u v, (forall outputs, test outputs = 0 \/ test outputs = 1) /\
  expect A (in_turn P plans) test (length plans) [] u /\ expect A (in_turn Q plans) test (length plans) [] v /\ exp (epsilon_of p) * v + IZR (bound p) / unit_of p <= u.
Proof. destruct noise_paired as [steps [C [SP SL]]]. rewrite <- SP in planned. apply Permutation_map_inv in planned as [pl [E0 P0]].
  assert (EQ : map fst steps = pl) by (apply (map_one Guarantee (fun x y E => f_equal (fun s => match s with Guarantee g => g | _ => x end) E) (map fst steps) pl E0)). rewrite <- EQ in P0.
  apply (classed_event A _ _ P Q p steps plans C SL (Permutation_sym P0)); auto. assert (F := judged). rewrite judge_below in F by auto. now apply andb_prop in F as [? _]. Qed.
Lemma source_found g : In g plans -> exists k, In g gs /\ found_below (Some o) p k (Guarantee g) = true.
Proof. intros I. assert (F := judged). rewrite judge_below in F by auto. apply andb_prop in F as [_ F]. apply (in_map Guarantee) in I. apply (Permutation_in _ (Permutation_sym planned)) in I.
  clear - F I. revert F I. generalize (kinds p) as ks, gs as gs'. induction ks as [|k ks IH]; intros [|g' gs'] F I; try easy. cbn [all_found map steps_stated] in F, I. apply andb_prop in F as [F R].
  apply in_app_or in I as [I|I]; [|destruct (IH gs' R I) as [k' [I' F']]; exists k'; split; [now right|auto]]. apply repeat_spec in I. injection I as ->. exists k. split; [now left|auto]. Qed.
End Noisy.
(* one step, and an event of one cut *)
Lemma one_event {T} (A : integral T) (P Q : T -> R) (c : T -> bool) (yes no : bool) a v : cuts_well A c -> nice A P -> nice A Q ->
  let ev := fun y => if (if c y then yes else no) then 1 else 0 in is_int A (fun y => (if c y then if yes then 1 else 0 else if no then 1 else 0) * (P y - a * Q y)) v ->
  exists test u w, (forall outputs, test outputs = 0 \/ test outputs = 1) /\ expect A (fun _ => P) test 1 [] u /\ expect A (fun _ => Q) test 1 [] w /\ u - a * w = v.
Proof. intros W NP NQ ev I. assert (EX : forall D, nice A D -> exists u, is_int A (fun y => D y * ev y) u).
  { intros D [D0 [d ID]]. destruct (W D (conj D0 (ex_intro _ d ID))) as [[_ [d1 I1]] [_ [d0 I0]]]. exists ((if yes then 1 else 0) * d1 + (if no then 1 else 0) * d0).
    eapply (int_ext A); [|exact (int_plus A _ _ _ _ (int_scal A (if yes then 1 else 0) _ _ I1) (int_scal A (if no then 1 else 0) _ _ I0))].
    intros y. unfold ev. cbv beta. destruct (c y), yes, no; ring. }
  destruct (EX P NP) as [u U]. destruct (EX Q NQ) as [w V]. exists (fun h => match h with y :: _ => ev y | [] => 0 end), u, w.
  split; [intros [|y h]; auto; unfold ev; destruct (c y), yes, no; auto|]. split; [exists ev; split; [reflexivity|exact U]|split; [exists ev; split; [reflexivity|exact V]|]].
  apply (int_unique A (fun y => P y * ev y - a * (Q y * ev y))); [apply int_minus; auto; now apply int_scal|]. eapply (int_ext A); [|exact I]. intros y. cbv beta. unfold ev. destruct (c y), yes, no; ring. Qed.

(* ---------- Laplace noise ---------- *)
(* the number that one record changes by as much as is stated: r scales of the noise *)
Definition number (b r : R) (z : bool) : R := if z then r * b else 0.
Definition scaled_tests (p : problem) (scale : R) (k : kind) (g : guaranteed_step) : list R :=
  map (fun t => scale * (IZR t / IZR (unit (g_precision g)))) (laplace_tests g (h_num p) (h_den p) (step_law k)).
Lemma found_noise o p k g : found_below (Some o) p k (Guarantee g) = true ->
  covers_laplace_below g (h_num p) (h_den p) (bits p) (step_law k) = true \/ covers_discrete_below g (h_num p) (h_den p) (bits p) (step_law k) = true.
Proof. unfold found_below. intros F. apply andb_prop in F as [_ C]. now apply orb_prop in C. Qed.
Section LaplaceNotPrivate.
Variables (o : order) (p : problem) (gs plans : list guaranteed_step) (scale : R).
Hypothesis below : direction p = Below.
Hypothesis some_kind : kinds p <> [].
Hypothesis judged : judge (Some o) p (map (fun g => Some (Guarantee g)) gs) = true.
Hypothesis planned : Permutation (steps_stated (kinds p) (map Guarantee gs)) (map Guarantee plans).
Hypothesis scaled_noise : 0 < scale.
Let P (z : bool) (g : guaranteed_step) := laplace scale (number scale (g_eps g) z).
Lemma laplace_scaled r z y : laplace scale (number scale r z) y = / scale * lap_std ((y - 0) / scale - (if z then r else 0)).
Proof. unfold laplace, lap_std, number. do 4 f_equal. f_equal. destruct z; field; lra. Qed.
Lemma scaled_int z g : is_line (P z g) 1.
Proof. eapply line_ext; [|exact (rescaled (fun x => lap_std (x - (if z then g_eps g else 0))) scale 0 1 scaled_noise (lap_line _))]. intros y. unfold P. now rewrite laplace_scaled. Qed.
Lemma laplace_by_cuts k g : g_source g = Laplace_noise -> found_below (Some o) p k (Guarantee g) = true -> 0 <= g_eps g /\
  by_cuts line (P true) (P false) (fun k g => map past (scaled_tests p scale k g)) k g (law_of (grid_step p) (unit_of p) (step_law k)).
Proof. intros GS F. destruct (found_noise _ _ _ _ F) as [C|C]; [|unfold covers_discrete_below in C; now rewrite GS in C]. destruct (covers_laplace_below_ok _ _ _ _ _ C) as [_ [E0 [NB [TB HB]]]]. split; auto.
  assert (P0 : forall z y, 0 <= P z g y).
  { intros z y. unfold P. rewrite laplace_scaled. apply Rmult_le_pos; [left; now apply Rinv_0_lt_compat|apply lap_std_ge0]. }
  split; [split; [auto|exists 1; apply scaled_int]|]. split; [split; [auto|exists 1; apply scaled_int]|]. split; [apply scaled_int|]. split; [auto|split; [auto|]].
  intros e. destruct (HB e) as [Z|[t [T1 T2]]]; [now left|right]. set (tt := IZR t / IZR (unit (g_precision g))) in *. set (r := g_eps g) in *.
  assert (IT : In (past (scale * tt)) (map past (scaled_tests p scale k g))).
  { apply in_map. exact (in_map (fun t => scale * (IZR t / IZR (unit (g_precision g)))) _ _ T1). }
  assert (K := rescaled _ scale 0 _ scaled_noise (lap_gain_int r tt (exp e))).
  assert (EV : forall y, past (scale * tt) y = past tt ((y - 0) / scale)).
  { intros y. assert (X : scale * ((y - 0) / scale) = y) by (field; lra). unfold past. destruct (Rlt_dec (scale * tt) y), (Rlt_dec tt ((y - 0) / scale)); auto; exfalso; nra. }
  set (yes := if Rlt_dec tt 0 then 1 else if Rle_dec tt r then 1 else 0). set (no := if Rlt_dec tt 0 then 1 else 0).
  exists (past (scale * tt)), yes, no, (lap_gain r tt (exp e)). split; [exact IT|]. split; [unfold yes; destruct (Rlt_dec tt 0), (Rle_dec tt r); lra|]. split; [unfold no; destruct (Rlt_dec tt 0); lra|]. split; [|exact T2].
  eapply line_ext; [|exact K]. intros y. cbv beta. unfold P. rewrite !laplace_scaled, EV. fold r. cbv iota. unfold lap_event, yes, no, past, beyond. destruct (Rlt_dec tt 0), (Rle_dec tt r), (Rlt_dec tt ((y - 0) / scale)); ring. Qed.
(* Steps that add Laplace noise of some scale to a number that one record changes by as many scales as is stated. *)
Hypothesis of_laplace : forall g, In g gs -> g_source g = Laplace_noise.
Theorem laplace_not_private : exists (query : list R -> bool -> R) test u v,
  (forall h g, nth_error plans (length h) = Some g -> Rabs (query h true - query h false) <= g_eps g * scale) /\
  (forall outputs, test outputs = 0 \/ test outputs = 1) /\
  expect line (fun h => match nth_error plans (length h) with Some _ => laplace scale (query h true) | None => fun _ => 0 end) test (length plans) [] u /\
  expect line (fun h => match nth_error plans (length h) with Some _ => laplace scale (query h false) | None => fun _ => 0 end) test (length plans) [] v /\
  exp (epsilon_of p) * v + IZR (bound p) / unit_of p <= u.
Proof. destruct (noise_event line (P true) (P false) (fun k g => map past (scaled_tests p scale k g)) o p gs plans below some_kind judged planned) as [test [u [v [T [U [V K]]]]]].
  - intros k g. apply line_cuts.
  - intros k g I F. now apply laplace_by_cuts, F; auto.
  - exists (fun (h : list R) z => match nth_error plans (length h) with Some g => number scale (g_eps g) z | None => 0 end), test, u, v. split.
    + intros h g NT. rewrite NT. destruct (source_found o p gs plans below some_kind judged planned g (nth_error_In _ _ NT)) as [k [I F]].
      destruct (laplace_by_cuts k g (of_laplace g I) F) as [G0 _]. unfold number. rewrite Rminus_0_r, Rabs_pos_eq; [lra|apply Rmult_le_pos; lra].
    + split; [exact T|]. split; [|split; [|exact K]]; (eapply expect_ext; [|eassumption]); intros h y _; unfold in_turn, P; now destruct (nth_error plans (length h)). Qed.
End LaplaceNotPrivate.

(* ---------- discrete noise ---------- *)
Lemma counts_cuts_well c : cuts_well counts c.
Proof. intros f [F0 [v V]]. split; (split; [intros x; destruct (c x); auto; lra|]);
    (apply (counts_exists _ f v); [intros x; specialize (F0 x); destruct (c x); lra|exact V]). Qed.
Section DiscreteNotPrivate.
Variables (o : order) (p : problem) (gs plans : list guaranteed_step).
Hypothesis below : direction p = Below.
Hypothesis some_kind : kinds p <> [].
Hypothesis judged : judge (Some o) p (map (fun g => Some (Guarantee g)) gs) = true.
Hypothesis planned : Permutation (steps_stated (kinds p) (map Guarantee gs)) (map Guarantee plans).
(* what is stated of the noise, and the whole number that one record changes by as much as is stated *)
Definition shape (g : guaranteed_step) : bool * Z := match g_source g with Whole square D _ _ => (square, D) | _ => (false, 0%Z) end.
Definition noise_of (g : guaranteed_step) (c : Z) : Z -> R := discrete (fst (shape g)) (g_eps g) c.
Hypothesis of_discrete : forall g, In g gs -> exists square D reach ts, g_source g = Whole square D reach ts.
Definition counts_cuts (k : kind) (g : guaranteed_step) : list (Z -> bool) := match g_source g with Whole _ _ _ ts => map (fun t k => (k <=? t)%Z) ts | _ => [] end.
Lemma counts_cut k g : Forall (cuts_well counts) (counts_cuts k g).
Proof. apply Forall_forall. intros c _. apply counts_cuts_well. Qed.
Lemma discrete_by_cuts k g : In g gs -> found_below (Some o) p k (Guarantee g) = true -> (0 <= snd (shape g))%Z /\ 0 < g_eps g /\
  by_cuts counts (fun g => noise_of g 0) (fun g => noise_of g (snd (shape g))) counts_cuts k g (law_of (grid_step p) (unit_of p) (step_law k)).
Proof. intros I F. destruct (of_discrete g I) as [sq [D [n [ts GS]]]]. destruct (found_noise _ _ _ _ F) as [C|C]; [unfold covers_laplace_below in C; now rewrite GS in C|].
  destruct (covers_discrete_below_ok _ _ _ _ _ C) as [sq' [D' [n' [ts' [GS' [R [D0 [NB [TB HB]]]]]]]]]. rewrite GS in GS'. injection GS' as <- <- <- <-. unfold noise_of, shape. rewrite GS. cbn [fst snd].
  split; [auto|split; [auto|]]. assert (N : forall c, nice counts (discrete sq (g_eps g) c)) by (intros c; split; [intros; now apply noise_ge0|exists 1; now apply noise_int]).
  unfold by_cuts, counts_cuts. rewrite GS. cbn [fst snd]. split; [apply N|split; [apply N|split; [now apply noise_int|split; [auto|split; [auto|]]]]].
  intros e. destruct (HB e) as [Z|[t [T1 T2]]]; [now left|right]. exists (fun k => (k <=? t)%Z), 1, 0, (discrete_gain sq (g_eps g) D t (exp e)).
  split; [exact (in_map (fun t k => (k <=? t)%Z) _ _ T1)|]. split; [lra|split; [lra|split; [|exact T2]]]. exact (discrete_gain_int sq (g_eps g) R D t (exp e)). Qed.
(* Steps that add discrete noise to a whole number that one record changes by as much as is stated. *)
Theorem discrete_not_private : exists (query : list Z -> bool -> Z) test u v,
  (forall h g, nth_error plans (length h) = Some g -> (Z.abs (query h true - query h false) <= snd (shape g))%Z) /\
  (forall outputs, test outputs = 0 \/ test outputs = 1) /\
  expect counts (fun h => match nth_error plans (length h) with Some g => noise_of g (query h true) | None => fun _ => 0 end) test (length plans) [] u /\
  expect counts (fun h => match nth_error plans (length h) with Some g => noise_of g (query h false) | None => fun _ => 0 end) test (length plans) [] v /\
  exp (epsilon_of p) * v + IZR (bound p) / unit_of p <= u.
Proof. destruct (noise_event counts _ _ counts_cuts o p gs plans below some_kind judged planned counts_cut (fun k g I F => proj2 (proj2 (discrete_by_cuts k g I F)))) as [test [u [v [T [U [V K]]]]]].
  exists (fun (h : list Z) (z : bool) => match nth_error plans (length h) with Some g => if z then 0%Z else snd (shape g) | None => 0%Z end), test, u, v. split.
  - intros h g NT. rewrite NT. destruct (source_found o p gs plans below some_kind judged planned g (nth_error_In _ _ NT)) as [k [I F]].
    destruct (discrete_by_cuts k g I F) as [D0 _]. lia.
  - split; [exact T|]. split; [|split; [|exact K]]; (eapply expect_ext; [|eassumption]); intros h y _; unfold in_turn; now destruct (nth_error plans (length h)). Qed.
End DiscreteNotPrivate.
