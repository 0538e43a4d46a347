(* 17. From below, to the mechanism: a refutation is a theorem.

   An integer law that the program finds below every step of a composition is attained: there are two data sets that
   differ in a record, a query of norm at most 1, and an event of all outputs, whose probabilities exist as iterated
   Riemann integrals and differ by at least what was accepted.
     attained: on finitely many outputs, the best event of all steps has the divergence of the convolution at least;
     binned: the outputs of one step, told apart by finitely many thresholds only, are finitely many;
     sampled_gaussian_not_private: Poisson-sampled Gaussian steps, of several kinds in any order;
     gaussian_not_private: steps without sampling, whatever their noises, by the event of one sum of all outputs. *)
From Coquelicot Require Import Coquelicot.
Require Import Reals ZArith List Lra Lia Bool Permutation.
From VerifiedDP Require Import Law HockeyStick Checker Link Integral Normal Space Enclosures SampledGaussian Events Extract Mechanism Replace.
Import ListNotations.
Open Scope R_scope.

(* ---------- finitely many outputs: the best event ---------- *)
Section Attained.
Context {T : Type} (l : list T).
Fixpoint mean (D : list T -> T -> R) (test : list T -> R) (k : nat) (h : list T) : R :=
  match k with O => test h | Datatypes.S k => S (fun x => D h x * mean D test k (x :: h)) l end.
Lemma mean_ext D t t' k : forall h, (forall h', t (h' ++ h) = t' (h' ++ h)) -> mean D t k h = mean D t' k h.
Proof. induction k as [|k IH]; intros h H; cbn [mean]; [apply (H [])|]. apply S_ext. intros x. f_equal. apply IH.
  intros h'. specialize (H (h' ++ [x])). now rewrite <- app_assoc in H. Qed.
Lemma mean_zero D k : forall h, mean D (fun _ => 0) k h = 0.
Proof. induction k as [|k IH]; intros h; cbn [mean]; auto. rewrite (S_ext _ (fun x => 0 * 0)); [rewrite S_scal; ring|].
  intros x. rewrite IH. ring. Qed.
Variables (P Q : list T -> T -> R).
(* Each law is below the step, whatever the outputs before it. *)
Fixpoint all_attained (Bs : list law) (h : list T) : Prop :=
  match Bs with
  | [] => True
  | B :: Bs => ((forall x, 0 <= P h x) /\ (forall x, 0 <= Q h x) /\ S (P h) l = 1 /\ nonneg B /\ tot B <= 1
      /\ forall e, delta e B <= HS (P h) (Q h) e l) /\ forall x, all_attained Bs (x :: h)
  end.
(* take the outputs with P >= e^eps Q, all in all *)
Fixpoint best (k : nat) (h : list T) (e : R) (o : list T) : R :=
  match k with
  | O => if Rle_dec 0 (1 - exp e) then 1 else 0
  | Datatypes.S k =>
      match nth_error o (length o - length h - 1) with
      | Some x => if Rlt_dec 0 (Q h x) then if Rlt_dec 0 (P h x) then best k (x :: h) (e - ln (P h x / Q h x)) o else 0 else 1
      | None => 0
      end
  end.
Lemma best_event k : forall h e o, best k h e o = 0 \/ best k h e o = 1.
Proof. induction k as [|k IH]; intros h e o; cbn [best].
  - destruct (Rle_dec _ _); auto.
  - destruct (nth_error _ _) as [x|]; [|auto]. destruct (Rlt_dec 0 (Q h x)); [|auto]. destruct (Rlt_dec 0 (P h x)); auto. Qed.
Lemma best_step k h e x h' : best (Datatypes.S k) h e (h' ++ x :: h) =
  if Rlt_dec 0 (Q h x) then if Rlt_dec 0 (P h x) then best k (x :: h) (e - ln (P h x / Q h x)) (h' ++ x :: h) else 0 else 1.
Proof. cbn [best]. replace (length (h' ++ x :: h) - length h - 1)%nat with (length h') by (rewrite app_length; cbn [length]; lia).
  rewrite nth_error_app2, Nat.sub_diag by lia. reflexivity. Qed.
Lemma all_tot Bs : forall h, all_attained Bs h -> nonneg (compose Bs) /\ tot (compose Bs) <= 1.
Proof. induction Bs as [|B Bs IH]; intros h H; cbn [compose].
  - split; [apply nonneg_unit|unfold tot, one, unit_law; simpl; lra].
  - destruct H as [[_ [_ [P1 [N [Tb _]]]]] H]. destruct l as [|x l'] eqn:L; [simpl in P1; lra|]. destruct (IH _ (H x)) as [N2 T2].
    split; [now apply nonneg_conv|]. rewrite tot_conv. assert (A := tot_ge0 _ N). assert (A2 := tot_ge0 _ N2). nra. Qed.
Lemma mean_one Bs : forall h, all_attained Bs h -> mean P (fun _ => 1) (length Bs) h = 1.
Proof. induction Bs as [|B Bs IH]; intros h H; cbn [mean length]; auto. destruct H as [[_ [_ [P1 _]]] H].
  rewrite (S_ext _ (P h)); auto. intros x. rewrite IH by auto. ring. Qed.
Theorem attained Bs : forall h e, all_attained Bs h ->
  delta e (compose Bs) <= mean P (best (length Bs) h e) (length Bs) h - exp e * mean Q (best (length Bs) h e) (length Bs) h.
Proof. induction Bs as [|B Bs IH]; intros h e H.
  - cbn [compose length mean best]. unfold delta, unit_law, w; simpl. rewrite Rminus_0_r, Rplus_0_l, Rplus_0_r, Rmult_1_l.
    destruct (Rle_dec 0 (1 - exp e)); [rewrite pos_of_pos|rewrite pos_of_neg]; lra.
  - destruct H as [[P0 [Q0 [P1 [NB [TB HB]]]]] H]. cbn [compose length]. set (k := length Bs) in *. set (C := compose Bs) in *.
    assert (NC : nonneg C /\ tot C <= 1).
    { destruct l as [|x l'] eqn:L; [simpl in P1; lra|]. exact (all_tot Bs _ (H x)). }
    destruct NC as [NC TC]. set (A := pld (P h) (Q h) l).
    assert (D : dom B A). { split; [intros e'; unfold A; rewrite <- HS_pld by auto; apply HB|]. unfold A. rewrite tot_pld by auto. lra. }
    eapply Rle_trans; [apply (dom_conv_l B A C NC D)|]. rewrite delta_conv. unfold A. rewrite pld_int.
    cbn [mean]. set (t := best (Datatypes.S k) h e).
    replace (S (fun x => P h x * mean P t k (x :: h)) l - exp e * S (fun x => Q h x * mean Q t k (x :: h)) l)
      with (S (fun x => P h x * mean P t k (x :: h) + - exp e * (Q h x * mean Q t k (x :: h))) l) by (rewrite S_plus, S_scal; ring).
    apply S_le. intros x. specialize (P0 x). specialize (Q0 x). unfold pl1.
    destruct (Rlt_dec 0 (Q h x)) as [q|q]; [destruct (Rlt_dec 0 (P h x)) as [p|p]|]; cbn [fst snd E].
    + assert (EX : forall D, mean D t k (x :: h) = mean D (best k (x :: h) (e - ln (P h x / Q h x))) k (x :: h)).
      { intros D'. apply mean_ext. intros h'. unfold t. rewrite best_step. destruct (Rlt_dec 0 (Q h x)); [|easy].
        now destruct (Rlt_dec 0 (P h x)). }
      rewrite !EX. assert (K := IH (x :: h) (e - ln (P h x / Q h x)) (H x)). fold k C in K.
      apply (Rmult_le_compat_l (P h x)) in K; [|lra]. rewrite Rmult_0_l, Rplus_0_l, Rplus_0_r. eapply Rle_trans; [exact K|right].
      replace (e - ln (P h x / Q h x)) with (e + - ln (P h x / Q h x)) at 2 by ring.
      rewrite exp_plus, exp_Ropp, exp_ln by (apply Rdiv_lt_0_compat; auto). field; lra.
    + assert (EX : forall D, mean D t k (x :: h) = 0).
      { intros D'. rewrite <- (mean_zero D' k (x :: h)). apply mean_ext. intros h'. unfold t. rewrite best_step.
        destruct (Rlt_dec 0 (Q h x)); [|easy]. now destruct (Rlt_dec 0 (P h x)). }
      rewrite !EX. lra.
    + assert (EX : mean P t k (x :: h) = 1).
      { rewrite <- (mean_one Bs (x :: h) (H x)). apply mean_ext. intros h'. unfold t. rewrite best_step. now destruct (Rlt_dec 0 (Q h x)). }
      rewrite EX. replace (Q h x) with 0 by lra. assert (P h x * tot C <= P h x * 1) by (apply Rmult_le_compat_l; lra). lra. Qed.
End Attained.
(* Outputs of any kind, of which only a class among finitely many is looked at. *)
Theorem lifted {T U} (A : integral T) (class : T -> U) (l : list U) (D : list T -> T -> R) (D' : list U -> U -> R) :
  (forall h f, is_int A (fun y => D h y * f (class y)) (S (fun b => D' (map class h) b * f b) l)) ->
  forall test k h, expect A D (fun o => test (map class o)) k h (mean l D' test k (map class h)).
Proof. intros H test. induction k as [|k IH]; intros h; cbn [expect mean]; auto.
  exists (fun y => mean l D' test k (map class (y :: h))). split; [intros y; apply IH|].
  exact (H h (fun b => mean l D' test k (b :: map class h))). Qed.

Lemma S_ge0 {T} (f : T -> R) l : (forall x, 0 <= f x) -> 0 <= S f l.
Proof. intros H. induction l as [|x l IH]; simpl; [lra|]. specialize (H x). lra. Qed.
(* ---------- all steps, by finitely many classes of outputs ---------- *)
(* steps of kinds K, in the order of the plans; D: the density of a kind's output *)
Definition in_turn {T K} (D : K -> T -> R) (plans : list K) (h : list T) : T -> R :=
  match nth_error plans (length h) with Some k => D k | None => fun _ => 0 end.
Section Classed.
Context {T U K : Type} (A : integral T) (look : T -> U) (l : list U) (P Q : K -> T -> R).
(* Two laws on the classes are those of what is looked at of the step's output, and at least as far apart as its law says. *)
Definition between (s : K * law) (fg : (U -> R) * (U -> R)) := let (k, B) := s in let (f, g) := fg in (forall b, 0 <= f b) /\ (forall b, 0 <= g b) /\ S f l = 1
  /\ (forall t, is_int A (fun y => P k y * t (look y)) (S (fun b => f b * t b) l)) /\ (forall t, is_int A (fun y => Q k y * t (look y)) (S (fun b => g b * t b) l))
  /\ nonneg B /\ tot B <= 1 /\ forall e, delta e B <= HS f g e l.
Definition classed (s : K * law) := exists fg, between s fg.
Lemma turn_lifted (D : K -> T -> R) (part : (U -> R) * (U -> R) -> U -> R) steps prs :
  (forall s fg, between s fg -> forall t, is_int A (fun y => D (fst s) y * t (look y)) (S (fun b => part fg b * t b) l)) -> Forall2 between steps prs ->
  forall h f, is_int A (fun y => in_turn D (map fst steps) h y * f (look y)) (S (fun b => in_turn part prs (map look h) b * f b) l).
Proof. intros H HC h f. unfold in_turn. rewrite map_length, nth_error_map. assert (J := in_step _ _ _ HC (length h)).
  destruct (nth_error steps (length h)) as [s|], (nth_error prs (length h)) as [fg|]; try easy; cbn [option_map]; [now apply H|].
  rewrite (S_ext _ (fun b => 0 * 0)) by (intros; ring). rewrite S_scal, Rmult_0_l. apply (int_ext A (fun _ => 0)); [intros; ring|apply int_zero]. Qed.
Lemma turn_attained rest rprs : Forall2 between rest rprs -> forall prs before h, prs = before ++ rprs -> length h = length before ->
  all_attained l (in_turn fst prs) (in_turn snd prs) (map snd rest) h.
Proof. intros F. induction F as [|[k B] [f g] rest rprs C F IH]; intros prs before h E L; cbn [map all_attained]; auto. split.
  - assert (NT : nth_error prs (length h) = Some (f, g)) by (rewrite E, L, nth_error_app2, Nat.sub_diag by lia; reflexivity).
    unfold in_turn. rewrite NT. cbn [fst snd]. destruct C as [F0 [G0 [F1 [_ [_ [NB [TB HB]]]]]]]. repeat split; auto; apply NB.
  - intros x. apply (IH prs (before ++ [(f, g)])); [rewrite <- app_assoc; exact E|rewrite app_length; cbn [length]; lia]. Qed.
(* There is an event of all outputs, if the program accepts the laws. *)
Theorem classed_event (p : problem) steps plans : Forall classed steps -> map snd steps = steps_of p -> Permutation (map fst steps) plans ->
  accept_N p = true -> direction p = Below -> exists test u v, (forall outputs, test outputs = 0 \/ test outputs = 1) /\
  expect A (in_turn P plans) test (length plans) [] u /\ expect A (in_turn Q plans) test (length plans) [] v /\
  exp (epsilon_of p) * v + IZR (bound p) / unit_of p <= u.
Proof. intros C SL PL AC below. destruct (Permutation_map_inv _ _ (Permutation_sym PL)) as [all [-> R]].
  assert (HC : exists prs, Forall2 between all prs).
  { assert (C' : Forall classed all) by (rewrite Forall_forall in *; intros s Hs; apply C; now apply (Permutation_in s (Permutation_sym R))).
    clear - C'. induction C' as [|s all [fg H] C' [prs IH]]; [exists []; constructor|]. exists (fg :: prs). now constructor. }
  destruct HC as [prs HC]. set (e := epsilon_of p). assert (G := attained l (in_turn fst prs) (in_turn snd prs) (map snd all) [] e (turn_attained _ _ HC prs [] [] eq_refl eq_refl)).
  rewrite map_length in *. set (t := best (in_turn fst prs) (in_turn snd prs) (length all) [] e) in *.
  exists (fun outputs => t (map look outputs)), (mean l (in_turn fst prs) t (length all) []), (mean l (in_turn snd prs) t (length all) []).
  split; [intros; apply best_event|]. split; [|split].
  - refine (lifted A look l _ _ (turn_lifted P fst all prs _ HC) t (length all) []). intros [k B] [f g] H. apply H.
  - refine (lifted A look l _ _ (turn_lifted Q snd all prs _ HC) t (length all) []). intros [k B] [f g] H. apply H.
  - assert (B := accepted_below p AC below). unfold composed in B. rewrite <- SL in B.
    assert (SM := proj1 (compose_permutation _ _ (Permutation_map snd R)) (epsilon_of p)). rewrite SM in B. fold e in B. lra. Qed.
(* What an event of classes tells of the outputs it tells of the classes. *)
Lemma class_gain f g ev a v k : (forall t, is_int A (fun y => P k y * t (look y)) (S (fun b => f b * t b) l)) -> (forall t, is_int A (fun y => Q k y * t (look y)) (S (fun b => g b * t b) l)) ->
  (forall b, 0 <= ev b <= 1) -> is_int A (fun y => ev (look y) * (P k y - a * Q k y)) v -> v <= S (fun b => pos (f b - a * g b)) l.
Proof. intros F G E I. assert (J : is_int A (fun y => P k y * ev (look y) - a * (Q k y * ev (look y))) (S (fun b => f b * ev b) l - a * S (fun b => g b * ev b) l)).
  { apply int_minus; [apply F|apply int_scal, G]. }
  assert (J' : is_int A (fun y => ev (look y) * (P k y - a * Q k y)) (S (fun b => f b * ev b) l - a * S (fun b => g b * ev b) l)).
  { eapply (int_ext A); [|exact J]. intros y. cbv beta. ring. }
  rewrite (int_unique A _ _ _ I J'), <- S_scal. replace (S (fun b => f b * ev b) l - S (fun b => a * (g b * ev b)) l) with (S (fun b => (f b - a * g b) * ev b) l).
  - apply S_le. intros b. specialize (E b). assert (Y := pos_ge0 (f b - a * g b)). assert (Z : f b - a * g b <= pos (f b - a * g b)) by apply Rmax_r. nra.
  - rewrite (S_ext _ (fun b => f b * ev b + -1 * (a * (g b * ev b)))) by (intros; ring). rewrite S_plus, (S_scal (-1)). ring. Qed.
End Classed.

(* ---------- finitely many classes, by cuts ---------- *)
Fixpoint vectors (n : nat) : list (list bool) :=
  match n with O => [[]] | Datatypes.S n => map (cons true) (vectors n) ++ map (cons false) (vectors n) end.
Section Binned.
Context {T : Type} (A : integral T).
Definition classes (cuts : list (T -> bool)) (x : T) : list bool := map (fun c => c x) cuts.
Definition nice (P : T -> R) := (forall x, 0 <= P x) /\ exists v, is_int A P v.
Definition cuts_well (c : T -> bool) := forall P, nice P -> nice (fun x => if c x then P x else 0) /\ nice (fun x => if c x then 0 else P x).
Theorem binned cuts : Forall cuts_well cuts -> forall P, nice P -> exists p, (forall b, 0 <= p b) /\
  forall f, is_int A (fun x => P x * f (classes cuts x)) (S (fun b => p b * f b) (vectors (length cuts))).
Proof. intros W. induction W as [|c cuts W WS IH]; intros P N.
  - destruct N as [P0 [v V]]. exists (fun _ => v). split; [intros _; exact (int_ge0 A P v P0 V)|]. intros f. cbn [length vectors S classes map].
    rewrite Rplus_0_r. replace (v * f []) with (f [] * v) by ring. apply (int_ext A (fun x => f [] * P x)); [intros; ring|now apply int_scal].
  - destruct (W P N) as [N1 N0]. destruct (IH _ N1) as [p1 [A1 B1]]. destruct (IH _ N0) as [p0 [A0 B0]].
    exists (fun b => match b with true :: b => p1 b | false :: b => p0 b | [] => 0 end). split; [intros [|[] b]; auto; lra|].
    intros f. cbn [length vectors]. rewrite S_app, !S_map. eapply (int_ext A); [|apply (int_plus A); [exact (B1 (fun b => f (true :: b)))|exact (B0 (fun b => f (false :: b)))]].
    intros x. cbv beta. change (classes (c :: cuts) x) with (c x :: classes cuts x). destruct (c x); ring. Qed.
(* the law of one class is an event of classes *)
Lemma cut_class c cuts : In c cuts -> forall yes no : R, exists f : list bool -> R, (forall b, f b = yes \/ f b = no) /\ forall x, f (classes cuts x) = if c x then yes else no.
Proof. intros I yes no. destruct (In_nth_error _ _ I) as [n N]. exists (fun b => match nth_error b n with Some true => yes | _ => no end). split.
  - intros b. destruct (nth_error b n) as [[]|]; auto.
  - intros x. unfold classes. rewrite nth_error_map, N. reflexivity. Qed.
End Binned.

(* ---------- cuts of the line ---------- *)
Definition past (t x : R) : bool := if Rlt_dec t x then true else false.
Definition class (ts : list R) : R -> list bool := classes (map past ts).
Definition line_classes (ts : list R) := vectors (length (map past ts)).
Lemma beyond_ex (P : R -> R) t : (forall a b, ex_RInt P a b) -> forall a b, ex_RInt (fun x => beyond t x * P x) a b.
Proof. intros X. assert (EX : forall a b, a <= t -> t <= b -> ex_RInt (fun x => beyond t x * P x) a b).
  { intros a b Ha Hb. apply (@ex_RInt_Chasles R_NormedModule (fun x => beyond t x * P x) a t b).
    - apply (@ex_RInt_ext R_NormedModule (fun _ => 0)); [|apply ex_RInt_const].
      intros x. rewrite Rmin_left, Rmax_right by auto. intros [_ H]. unfold beyond. destruct (Rlt_dec t x); lra.
    - apply (@ex_RInt_ext R_NormedModule P); [|apply X].
      intros x. rewrite Rmin_left, Rmax_right by auto. intros [H _]. unfold beyond. destruct (Rlt_dec t x); lra. }
  intros a b. set (lo := Rmin t (Rmin a b)). set (hi := Rmax t (Rmax a b)).
  assert (L1 : lo <= t) by apply Rmin_l. assert (L2 : t <= hi) by apply Rmax_l.
  assert (L3 : lo <= a /\ lo <= b) by (unfold lo; split; eapply Rle_trans; [apply Rmin_r|apply Rmin_l|apply Rmin_r|apply Rmin_r]).
  assert (L4 : a <= hi /\ b <= hi) by (unfold hi; split; (eapply Rle_trans; [|apply Rmax_r]); [apply Rmax_l|apply Rmax_r]).
  assert (W := EX lo hi L1 L2).
  assert (WA : ex_RInt (fun x => beyond t x * P x) lo a) by (apply (@ex_RInt_Chasles_1 R_CompleteNormedModule (fun x => beyond t x * P x) lo a hi); [lra|exact W]).
  assert (WB : ex_RInt (fun x => beyond t x * P x) lo b) by (apply (@ex_RInt_Chasles_1 R_CompleteNormedModule (fun x => beyond t x * P x) lo b hi); [lra|exact W]).
  apply (@ex_RInt_Chasles R_NormedModule (fun x => beyond t x * P x) a lo b); auto. now apply ex_RInt_swap. Qed.
Lemma line_cuts ts : Forall (cuts_well line) (map past ts).
Proof. apply Forall_forall. intros c I. apply in_map_iff in I as [t [<- _]]. intros P [P0 [v V]].
  assert (V0 : 0 <= v) by exact (int_ge0 line P v P0 V). assert (E : forall x, (if past t x then P x else 0) = beyond t x * P x) by (intros x; unfold past, beyond; destruct (Rlt_dec t x); ring).
  assert (N : nice line (fun x => if past t x then P x else 0)).
  { split; [intros x; destruct (past t x); auto; lra|]. destruct (dominated_int (fun x => beyond t x * P x) (fun x => / (v + 1) * (P x + std x)) (v + 1)) as [w W]; [lra|apply beyond_ex, V| | | |].
    - intros x. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra. specialize (P0 x). assert (Y := std_ge0 x). rewrite <- E. destruct (past t x); lra.
    - intros x. apply Rmult_le_pos; [left; apply Rinv_0_lt_compat; lra|]. specialize (P0 x). assert (Y := std_ge0 x). lra.
    - assert (K := line_scal (/ (v + 1)) _ _ (line_plus _ _ _ _ V std_int)). now rewrite Rinv_l in K by lra.
    - exists w. eapply line_ext; [|exact W]. intros x. now rewrite E. }
  split; auto. split; [intros x; destruct (past t x); auto; lra|]. destruct N as [_ [w W]]. exists (v - w).
  apply (line_ext (fun x => P x - (if past t x then P x else 0))); [intros x; destruct (past t x); ring|]. exact (int_minus line _ _ _ _ V W). Qed.
(* an event of one threshold is an event of the classes *)
Lemma event_class o t ts : In t ts -> exists f, (forall b, 0 <= f b <= 1) /\ forall x, f (class ts x) = event o t x.
Proof. intros I. assert (X := fun yes no => cut_class (past t) (map past ts) (in_map past ts t I) yes no).
  destruct o as [[]|]; [destruct (X 1 0) as [f [F1 F2]]|destruct (X 0 1) as [f [F1 F2]]|destruct (X 1 0) as [f [F1 F2]]]; exists f;
    (split; [intros b; destruct (F1 b) as [-> | ->]; lra|]); intros x; unfold class; rewrite F2; unfold past, event, beyond; destruct (Rlt_dec t x); lra. Qed.

(* ---------- sampled Gaussian steps ---------- *)
Notation vec := (@tup R).
Lemma squares_zeros n : squares (zeros n) = 0.
Proof. induction n as [|n IH]; simpl; [auto|rewrite IH; ring]. Qed.
Section Steps.
Context {d : nat}.
(* a record's contribution: the first unit vector, or its opposite, or nothing; what is looked at: the first coordinate *)
Definition along (c : R) : vec (Datatypes.S d) := (c, zeros d).
Lemma along_norm c : -1 <= c <= 1 -> norm (along c) <= 1.
Proof. intros H. unfold norm, along. cbn [squares fst snd]. rewrite squares_zeros, <- sqrt_1. apply sqrt_le_1_alt. nra. Qed.
Definition ask (w : way) (h : list (vec (Datatypes.S d))) (z : bool) := along (if z then 1 else match w with Replaced => -1 | _ => 0 end).
Lemma ask_norm w h z : norm (ask w h z) <= 1.
Proof. apply along_norm. destruct z, w; lra. Qed.
Definition data_P (w : way) : list bool := match w with Add => [] | _ => [true] end.
Definition data_Q (w : way) : list bool := match w with Remove => [] | Add => [true] | Replaced => [false] end.
Definition scaled (P : R -> R) (sigma x : R) := / sigma * P (x / sigma).
Lemma first_coordinate (P : R -> R) sigma f v : 0 < sigma -> is_line (fun x => P x * f x) v ->
  is_int (space (Datatypes.S d)) (fun y => P (fst y) * normals sigma (zeros d) (snd y) * f (fst y)) v.
Proof. intros Hs I. exists (fun x => P x * f x). split; [|exact I]. intros x. cbn [fst snd]. rewrite <- (Rmult_1_r (P x * f x)).
  apply (int_ext (space d) (fun y => P x * f x * normals sigma (zeros d) y)); [intros; ring|]. apply int_scal. now apply normals_int. Qed.
Variables (q sigma : R).
Hypothesis Hq : 0 < q <= 1.
Hypothesis Hs : 0 < sigma.
Let step (w : way) (D : list bool) := sampled q (fun batch => normals sigma (total (ask w []) batch)) D.
Lemma normal_scaled c x : normal sigma c x = scaled (fun z => std (z - c / sigma)) sigma x.
Proof. unfold normal, scaled. do 2 f_equal. field; lra. Qed.
Lemma one_record w z y : step w [z] y = scaled (mix q (shifted (fst (ask w [] z) / sigma)) std) sigma (fst y) * normals sigma (zeros d) (snd y).
Proof. unfold step, sampled. cbn [batches map app S fst snd]. assert (T0 : total (ask w []) [] = (0, zeros d)) by reflexivity.
  assert (T1 : total (ask w []) [z] = (fst (ask w [] z), zeros d)) by (cbn [total]; unfold ask, along; cbn; rewrite plus_zeros; f_equal; ring).
  rewrite T0, T1. cbn [normals fst snd]. rewrite !normal_scaled. unfold scaled, mix, shifted. replace (0 / sigma) with 0 by (field; lra). rewrite Rminus_0_r. ring. Qed.
Lemma no_record w y : step w [] y = scaled std sigma (fst y) * normals sigma (zeros d) (snd y).
Proof. unfold step, sampled. cbn [batches S fst snd]. assert (T0 : total (ask w []) [] = (0, zeros d)) by reflexivity.
  rewrite T0. cbn [normals fst snd]. rewrite normal_scaled. unfold scaled. replace (0 / sigma) with 0 by (field; lra). rewrite Rminus_0_r. ring. Qed.
Definition step_P w := step w (data_P w).
Definition step_Q w := step w (data_Q w).
Lemma step_Q_scaled w y : step_Q w y = scaled (pair_Q w q (/ sigma)) sigma (fst y) * normals sigma (zeros d) (snd y).
Proof. unfold step_Q. destruct w as [[]|]; cbn [data_Q pair_Q]; [apply no_record| |]; rewrite one_record; cbn [ask along fst];
    unfold Rdiv; rewrite ?Rmult_1_l; auto. now replace (-1 * / sigma) with (- / sigma) by ring. Qed.
Lemma step_P_scaled w y : step_P w y = scaled (pair_P w q (/ sigma)) sigma (fst y) * normals sigma (zeros d) (snd y).
Proof. unfold step_P. destruct w as [[]|]; cbn [data_P pair_P]; [|apply no_record|]; rewrite one_record; cbn [ask along fst]; unfold Rdiv; now rewrite Rmult_1_l. Qed.
Lemma scaled_line f v : is_line f v -> is_line (scaled f sigma) v.
Proof. intros I. eapply line_ext; [|exact (rescaled f sigma 0 v Hs I)]. intros x. unfold scaled. now rewrite Rminus_0_r. Qed.
Lemma scaled_nice P v : (forall x, 0 <= P x) -> is_line P v -> nice line (scaled P sigma).
Proof. intros P0 I. split; [intros x; apply Rmult_le_pos; [left; now apply Rinv_0_lt_compat|auto]|]. exists v. now apply scaled_line. Qed.
(* The step, told apart by thresholds, as two laws on finitely many classes. *)
Theorem step_classes o ts B : nonneg B -> tot B <= 1 -> (forall e, delta e B <= 0 \/ exists t, In (sigma * t) ts /\ delta e B <= gain o q (/ sigma) t (exp e)) ->
  classed (space (Datatypes.S d)) (fun y => class ts (fst y)) (line_classes ts) (fun _ : Datatypes.unit => step_P o) (fun _ => step_Q o) (tt, B).
Proof. intros NB TB HB. assert (PG : forall x, 0 <= pair_P o q (/ sigma) x /\ 0 <= pair_Q o q (/ sigma) x) by (intros; now apply pair_ge0).
  assert (PI := pair_P_int q (/ sigma) o). assert (QI := pair_Q_int q (/ sigma) o).
  destruct (binned line _ (line_cuts ts) _ (scaled_nice _ _ (fun x => proj1 (PG x)) PI)) as [p [p0 HP]].
  destruct (binned line _ (line_cuts ts) _ (scaled_nice _ _ (fun x => proj2 (PG x)) QI)) as [r [r0 HR]].
  exists (p, r). split; [auto|split; [auto|split; [|split; [|split; [|split; [auto|split; [auto|]]]]]]].
  - assert (K := HP (fun _ => 1)). fold (line_classes ts) in K. rewrite (S_ext _ p) in K by (intros; ring). apply (int_unique line _ _ _ K).
    apply (line_ext (scaled (pair_P o q (/ sigma)) sigma)); [intros; ring|]. now apply scaled_line.
  - intros f. eapply (int_ext (space (Datatypes.S d))); [|exact (first_coordinate _ sigma (fun x => f (class ts x)) _ Hs (HP f))].
    intros y. cbv beta. rewrite step_P_scaled. ring.
  - intros f. eapply (int_ext (space (Datatypes.S d))); [|exact (first_coordinate _ sigma (fun x => f (class ts x)) _ Hs (HR f))].
    intros y. cbv beta. rewrite step_Q_scaled. ring.
  - intros e. destruct (HB e) as [Z|[t [I L]]]; eapply Rle_trans; [exact Z|apply S_ge0; intros; apply pos_ge0|exact L|].
    destruct (event_class o _ _ I) as [f [F1 F2]].
    refine (class_gain line (class ts) (line_classes ts) (fun _ : Datatypes.unit => scaled (pair_P o q (/ sigma)) sigma) (fun _ => scaled (pair_Q o q (/ sigma)) sigma) p r f (exp e) _ tt HP HR F1 _).
    eapply line_ext; [|exact (scaled_line _ _ (gain_int o q (/ sigma) t (exp e)))]. intros x. cbv beta. rewrite F2. unfold scaled.
    assert (X : sigma * (x / sigma) = x) by (field; lra). replace (event o (sigma * t) x) with (event o t (x / sigma)); [ring|].
    unfold event, beyond. destruct o as [[]|], (Rlt_dec (sigma * t) x), (Rlt_dec t (x / sigma)); auto; exfalso; nra. Qed.
End Steps.

Definition thresholds (g : gaussian_step) := map (fun t => sigma_of g * (IZR t / IZR (unit (precision g)))) (tests g).
Section NotPrivate.
Variables (d : nat) (w : way) (o : order) (p : problem) (gs : list gaussian_step) (plans : list plan).
Hypothesis below : direction p = Below.
Hypothesis some_kind : kinds p <> [].
Hypothesis judged : judge (Some o) p (map (fun g => Some (gaussian_way w g)) gs) = true.
Hypothesis about : fits w o.
Hypothesis planned : Permutation (plans_of (kinds p) gs) plans.
Let ts := flat_map thresholds gs.
(* What the program found of a plan: its law is below, by the events of these thresholds. *)
Definition reached (s : plan * law) := let (a, B) := s in
  nonneg B /\ tot B <= 1 /\ 0 < rate a <= 1 /\ 0 < noise a /\
  forall e, delta e B <= 0 \/ exists t, In (noise a * t) ts /\ delta e B <= gain w (rate a) (/ noise a) t (exp e).
Lemma accepted_now : decide_below (Some o) p (map (fun g => Some (gaussian_way w g)) gs) = true.
Proof. now rewrite <- judge_below. Qed.
Lemma paired_below : exists steps, Forall reached steps /\ map fst steps = plans_of (kinds p) gs /\ map snd steps = steps_of p.
Proof. assert (F := accepted_now). apply andb_prop in F as [_ F]. unfold steps_of.
  assert (I : forall g, In g gs -> incl (thresholds g) ts).
  { intros g Hg x Hx. apply in_flat_map. now exists g. }
  clearbody ts. revert F I. generalize (kinds p) as ks, gs as gs'. intros ks gs'. revert ks. induction gs' as [|g gs' IH]; intros [|k ks] F I; try discriminate.
  - exists []. auto.
  - cbn [all_found map] in F. apply andb_prop in F as [F R]. destruct (IH ks R (fun g' H => I g' (or_intror H))) as [steps [S1 [S2 S3]]].
    destruct (found_below_ok _ _ _ _ _ about F) as [_ C].
    exists (repeat (plan_of g, law_of (grid_step p) (unit_of p) (step_law k)) (Z.to_nat (count k)) ++ steps).
    cbn [plans_of laws_of flat_map]. rewrite !map_app, !repeat_map, S2, S3. split; [|auto]. apply Forall_app; split; auto. apply Forall_forall. intros s Hs.
    apply repeat_spec in Hs; subst s. destruct (covers_below_way_ok _ _ _ _ _ _ C) as [C1 [C2 [C3 [C4 C5]]]].
    split; [exact C1|split; [exact C4|split; [exact C2|split; [exact C3|]]]]. intros e. destruct (C5 e) as [Z|[t [T1 T2]]]; [now left|right].
    exists (IZR t / IZR (unit (precision g))). split; [|exact T2]. apply (I g (or_introl eq_refl)). unfold thresholds.
    exact (in_map (fun t => sigma_of g * (IZR t / IZR (unit (precision g)))) _ _ T1). Qed.
(* two data sets, a query of norm at most 1, and an event *)
Lemma event_found : exists test u v, (forall outputs, test outputs = 0 \/ test outputs = 1) /\
  expect (space (Datatypes.S d)) (mechanism plans (ask w) (data_P w)) test (length plans) [] u /\
  expect (space (Datatypes.S d)) (mechanism plans (ask w) (data_Q w)) test (length plans) [] v /\
  exp (epsilon_of p) * v + IZR (bound p) / unit_of p <= u.
Proof. destruct paired_below as [steps [C [SP SL]]]. rewrite <- SP in planned. assert (AC := accepted_now). apply andb_prop in AC as [AC _].
  set (P := fun a => @step_P d (rate a) (noise a) w). set (Q := fun a => @step_Q d (rate a) (noise a) w).
  destruct (classed_event (space (Datatypes.S d)) (fun y => class ts (fst y)) (line_classes ts) P Q p steps plans) as [test [u [v [T [HU [HV K]]]]]]; auto.
  - eapply Forall_impl; [|exact C]. intros [a B] [NB [TB [Hq [Hs HB]]]]. exact (step_classes (rate a) (noise a) Hq Hs w ts B NB TB HB).
  - exists test, u, v. split; [exact T|]. split; [|split; [|exact K]]; (eapply expect_ext; [|eassumption]); intros h y _; unfold in_turn, mechanism; now destruct (nth_error plans (length h)). Qed.
End NotPrivate.
Section Sampled.
Variables (d : nat) (o : order) (p : problem) (gs : list gaussian_step) (plans : list plan).
Hypothesis below : direction p = Below.
Hypothesis some_kind : kinds p <> [].
Hypothesis planned : Permutation (plans_of (kinds p) gs) plans.
(* There are data sets that differ in one record (none and one), a query of norm at most 1, and an event. *)
Theorem sampled_gaussian_not_private : judge (Some o) p (map gaussian gs) = true ->
  exists (query : list (vec (Datatypes.S d)) -> bool -> vec (Datatypes.S d)) x test u v,
  (forall h z, norm (query h z) <= 1) /\ (forall outputs, test outputs = 0 \/ test outputs = 1) /\
  expect (space (Datatypes.S d)) (first query x [] o plans) test (length plans) [] u /\
  expect (space (Datatypes.S d)) (second query x [] o plans) test (length plans) [] v /\
  exp (epsilon_of p) * v + IZR (bound p) / unit_of p <= u.
Proof. intros J. destruct (event_found d o o p gs plans below some_kind J eq_refl planned) as [test [u [v [T [U [V K]]]]]].
  exists (ask o), true, test, u, v. split; [intros; apply ask_norm|]. split; [exact T|]. unfold first, second. destruct o; auto. Qed.
(* The same for a record in place of one that contributes nothing. *)
Theorem sampled_gaussian_zero_not_private : judge (Some o) p (map gaussian gs) = true ->
  exists (query : list (vec (Datatypes.S d)) -> bool -> vec (Datatypes.S d)) x ghost test u v,
  (forall h z, norm (query h z) <= 1) /\ (forall h, query h ghost = zeros (Datatypes.S d)) /\ (forall outputs, test outputs = 0 \/ test outputs = 1) /\
  expect (space (Datatypes.S d)) (mechanism plans query (match o with Remove => [x] | Add => [ghost] end)) test (length plans) [] u /\
  expect (space (Datatypes.S d)) (mechanism plans query (match o with Remove => [ghost] | Add => [x] end)) test (length plans) [] v /\
  exp (epsilon_of p) * v + IZR (bound p) / unit_of p <= u.
Proof. intros J. destruct (event_found d o o p gs plans below some_kind J eq_refl planned) as [test [u [v [T [U [V K]]]]]].
  assert (G : forall h, ask o h false = zeros (Datatypes.S d)) by reflexivity. exists (ask o), true, false, test, u, v.
  split; [intros; apply ask_norm|]. split; [exact G|]. split; [exact T|].
  assert (EX : forall w, expect (space (Datatypes.S d)) (mechanism plans (ask o) []) test (length plans) [] w ->
    expect (space (Datatypes.S d)) (mechanism plans (ask o) [false]) test (length plans) [] w).
  { intros w. apply expect_ext. intros h y _. symmetry. now apply mechanism_ghost. }
  destruct o; auto. Qed.
(* The same for a record in place of one that contributes the opposite. *)
Theorem sampled_gaussian_replace_not_private : judge (Some o) p (map replacement gs) = true ->
  exists (query : list (vec (Datatypes.S d)) -> bool -> vec (Datatypes.S d)) x x' test u v,
  (forall h z, norm (query h z) <= 1) /\ (forall outputs, test outputs = 0 \/ test outputs = 1) /\
  expect (space (Datatypes.S d)) (mechanism plans query [x]) test (length plans) [] u /\
  expect (space (Datatypes.S d)) (mechanism plans query [x']) test (length plans) [] v /\
  exp (epsilon_of p) * v + IZR (bound p) / unit_of p <= u.
Proof. intros J. destruct (event_found d Replaced o p gs plans below some_kind J Logic.I planned) as [test [u [v [T [U [V K]]]]]].
  exists (ask Replaced), true, false, test, u, v. split; [intros; apply ask_norm|]. auto. Qed.
End Sampled.

(* ---------- steps without sampling ---------- *)
Definition energy (rest : list R) := S (fun s => / s * / s) rest.
Lemma energy_pos s rest : 0 < s -> 0 < energy (s :: rest).
Proof. intros H. unfold energy. cbn [S]. assert (V := Rinv_0_lt_compat _ H). assert (K : 0 <= S (fun s => / s * / s) rest) by (apply S_ge0; intros; nra). nra. Qed.
(* the probability that what is left of the sum exceeds z, around centres c *)
Definition over (rest : list R) (c z : R) := match rest with [] => beyond z 0 | _ => upper ((z - c * energy rest) / sqrt (energy rest)) end.
Lemma over_mixed s rest c z : 0 < s -> Forall (Rlt 0) rest ->
  is_line (fun x => normal s c x * over rest c (z - x / (s * s))) (over (s :: rest) c z).
Proof. intros Hs HR. assert (V := Rinv_0_lt_compat _ Hs).
  set (F := fun w => std w * over rest c (z - (c + s * w) / (s * s))). apply (line_ext (fun x => / s * F ((x - c) / s))).
  { intros x. unfold F, normal. replace (c + s * ((x - c) / s)) with x by (field; lra). ring. }
  refine (rescaled F s c _ Hs _). unfold F. destruct rest as [|s' rest].
  - unfold over, energy. cbn [S]. rewrite Rplus_0_r, sqrt_square by lra. set (t := (z - c / (s * s)) * s).
    replace (upper ((z - c * (/ s * / s)) / / s)) with (upper (t - 0)) by (f_equal; unfold t; field; lra).
    apply (line_ext (fun w => beyond t w * std (w - 0))); [|apply upper_line]. intros w. rewrite Rminus_0_r, Rmult_comm. f_equal.
    assert (X : (z - (c + s * w) / (s * s)) * s = t - w) by (unfold t; field; lra).
    unfold beyond. destruct (Rlt_dec t w), (Rlt_dec (z - (c + s * w) / (s * s)) 0); auto; exfalso; nra.
  - inversion HR as [|? ? H1 H2]; subst. assert (EP := energy_pos s' rest H1). unfold over. set (rest' := s' :: rest) in *.
    assert (K := upper_mixed (/ s) (sqrt (energy rest')) (sqrt_lt_R0 _ EP) (z - c * (/ s * / s) - c * energy rest')).
    rewrite sqrt_sqrt in K by lra. change (energy (s :: rest')) with (/ s * / s + energy rest').
    replace (z - c * (/ s * / s + energy rest')) with (z - c * (/ s * / s) - c * energy rest') by ring.
    eapply line_ext; [|exact K]. intros w. cbv beta. do 3 f_equal. field; lra. Qed.
Section Plain.
Context {d : nat} (noises : list R).
Fixpoint stat (h : list (vec (Datatypes.S d))) : R :=
  match h with [] => 0 | y :: h => fst y / (nth (length h) noises 1 * nth (length h) noises 1) + stat h end.
Lemma stat_expect c z : Forall (Rlt 0) noises -> forall rest before h, noises = before ++ rest -> length h = length before ->
  expect (space (Datatypes.S d)) (fun h => normals (nth (length h) noises 1) ((c, zeros d) : vec (Datatypes.S d))) (fun h => beyond z (stat h))
    (length rest) h (over rest c (z - stat h)).
Proof. intros HN. induction rest as [|s rest IH]; intros before h E L; cbn [length expect].
  - unfold over, beyond. destruct (Rlt_dec (z - stat h) 0), (Rlt_dec z (stat h)); auto; lra.
  - assert (NT : nth (length h) noises 1 = s) by (rewrite E, L, app_nth2, Nat.sub_diag by lia; reflexivity).
    assert (HR : 0 < s /\ Forall (Rlt 0) rest).
    { rewrite E in HN. apply Forall_app in HN as [_ HN]. now inversion HN. }
    exists (fun y => over rest c (z - stat (y :: h))). split.
    + intros y. apply (IH (before ++ [s])); [rewrite <- app_assoc; exact E|rewrite app_length; cbn [length]; lia].
    + cbn [stat]. rewrite NT. cbn [normals fst snd].
      eapply (int_ext (space (Datatypes.S d))); [|exact (first_coordinate _ s _ _ (proj1 HR) (over_mixed s rest c (z - stat h) (proj1 HR) (proj2 HR)))].
      intros y. cbv beta. do 2 f_equal. ring. Qed.
Hypothesis noisy : Forall (Rlt 0) noises.
Variables (p : problem) (g : gaussian_step).
Hypothesis judged : judge (Some (in_order g)) p [gaussian g] = true.
Hypothesis one_event : kinds p = [].
Hypothesis below : direction p = Below.
Hypothesis unsampled : q_of g = 1.
Lemma plain_event c c' : c' <= c -> / sigma_of g * / sigma_of g <= S (fun s => (c - c') * / s * ((c - c') * / s)) noises ->
  exists test u v, (forall outputs, test outputs = 0 \/ test outputs = 1) /\
  expect (space (Datatypes.S d)) (fun h => normals (nth (length h) noises 1) ((c, zeros d) : vec (Datatypes.S d))) test (length noises) [] u /\
  expect (space (Datatypes.S d)) (fun h => normals (nth (length h) noises 1) ((c', zeros d) : vec (Datatypes.S d))) test (length noises) [] v /\
  exp (epsilon_of p) * v + IZR (bound p) / unit_of p <= u.
Proof. intros Hc HS. assert (HD := judged). unfold judge in HD. rewrite one_event in HD. apply andb_prop in HD as [_ HD].
  destruct (by_event_ok g p HD) as [_ [Sg K]]. rewrite below, unsampled in K. destruct K as [t0 K]. set (a := exp (epsilon_of p)) in *.
  set (m := / sigma_of g) in *. assert (M : 0 < m) by now apply Rinv_0_lt_compat.
  assert (T : exists t, IZR (bound p) / unit_of p <= upper (t - m) - a * upper t).
  { destruct (in_order g); cbn [gain] in K; [exists t0|exists (m - t0); replace (m - t0 - m) with (- t0) by ring]; lra. }
  destruct T as [t T]. assert (EN : S (fun s => (c - c') * / s * ((c - c') * / s)) noises = (c - c') * (c - c') * energy noises).
  { unfold energy. rewrite <- S_scal. apply S_ext; intros; ring. }
  rewrite EN in HS. assert (NE : noises <> []). { intros N. rewrite N in HS. unfold energy in HS. cbn [S] in HS. nra. }
  assert (EP : 0 < energy noises). { destruct noises as [|s rest]; [easy|]. inversion noisy; subst. now apply energy_pos. }
  set (R0 := sqrt (energy noises)). assert (RP : 0 < R0) by (now apply sqrt_lt_R0). assert (RR : R0 * R0 = energy noises) by (apply sqrt_sqrt; lra).
  set (z := R0 * t + c' * energy noises).
  exists (fun h => beyond z (stat h)), (over noises c z), (over noises c' z).
  split; [intros o; unfold beyond; destruct (Rlt_dec z (stat o)); auto|].
  assert (E0 := stat_expect c z noisy noises [] [] eq_refl eq_refl). assert (E1 := stat_expect c' z noisy noises [] [] eq_refl eq_refl).
  cbn [stat] in E0, E1. rewrite Rminus_0_r in E0, E1. split; [exact E0|split; [exact E1|]].
  assert (O : forall b, over noises b z = upper ((z - b * energy noises) / R0)) by (intros b; unfold over; now destruct noises).
  rewrite !O. replace ((z - c' * energy noises) / R0) with t by (unfold z; field; lra).
  replace ((z - c * energy noises) / R0) with (t - (c - c') * R0) by (unfold z; rewrite <- RR; field; lra).
  assert (MR : m <= (c - c') * R0). { assert (0 <= (c - c') * R0) by (apply Rmult_le_pos; lra). nra. }
  assert (U := upper_falls (t - (c - c') * R0) (t - m) ltac:(lra)). lra. Qed.
Lemma centre_norm c : -1 <= c <= 1 -> norm ((c, zeros d) : vec (Datatypes.S d)) <= 1.
Proof. intros H. unfold norm. cbn [squares fst snd]. rewrite squares_zeros, <- sqrt_1. apply sqrt_le_1_alt. nra. Qed.
Let order := in_order g.
Theorem gaussian_not_private : / sigma_of g * / sigma_of g <= S (fun s => / s * / s) noises ->
  exists (query : list (vec (Datatypes.S d)) -> Datatypes.unit -> vec (Datatypes.S d)) x test u v,
  (forall h z, norm (query h z) <= 1) /\ (forall outputs, test outputs = 0 \/ test outputs = 1) /\
  expect (space (Datatypes.S d)) (plain query noises (match order with Remove => [x] | Add => [] end)) test (length noises) [] u /\
  expect (space (Datatypes.S d)) (plain query noises (match order with Remove => [] | Add => [x] end)) test (length noises) [] v /\
  exp (epsilon_of p) * v + IZR (bound p) / unit_of p <= u.
Proof. intros HS. set (c := match order with Remove => 1 | Add => 0 end).
  assert (HS1 : / sigma_of g * / sigma_of g <= S (fun s => (c - (c - 1)) * / s * ((c - (c - 1)) * / s)) noises).
  { rewrite (S_ext _ (fun s => / s * / s)) by (intros; replace (c - (c - 1)) with 1 by ring; ring). exact HS. }
  destruct (plain_event c (c - 1) ltac:(lra) HS1) as [test [u [v [T [U [V K]]]]]].
  exists (fun _ _ => (match order with Remove => 1 | Add => -1 end, zeros d)), tt, test, u, v.
  split; [intros; apply centre_norm; destruct order; lra|]. split; [exact T|].
  assert (T1 : forall b : R, plus_vec ((b, zeros d) : vec (Datatypes.S d)) (zeros (Datatypes.S d)) = (b, zeros d)).
  { intros b. cbn. rewrite plus_zeros. f_equal; ring. }
  unfold plain, c in *. destruct order; cbn [total]; rewrite T1; (split; [|split; [|exact K]]);
    [exact U|replace (1 - 1) with 0 in V by ring; exact V|exact U|replace (0 - 1) with (-1) in V by ring; exact V]. Qed.
(* A record in place of another one: by one that contributes the opposite (c = -1: replace), or nothing (c = 0: zero-out). *)
Theorem gaussian_replace_not_private c : -1 <= c <= 1 ->
  / sigma_of g * / sigma_of g <= S (fun s => (1 - c) * / s * ((1 - c) * / s)) noises ->
  exists (query : list (vec (Datatypes.S d)) -> bool -> vec (Datatypes.S d)) test u v,
  (forall h z, norm (query h z) <= 1) /\ (forall h, query h false = (c, zeros d)) /\ (forall outputs, test outputs = 0 \/ test outputs = 1) /\
  expect (space (Datatypes.S d)) (plain query noises [true]) test (length noises) [] u /\
  expect (space (Datatypes.S d)) (plain query noises [false]) test (length noises) [] v /\
  exp (epsilon_of p) * v + IZR (bound p) / unit_of p <= u.
Proof. intros Hc HS. destruct (plain_event 1 c ltac:(lra) HS) as [test [u [v [T [U [V K]]]]]].
  exists (fun _ (z : bool) => (if z then 1 else c, zeros d)), test, u, v.
  split; [intros h z; apply centre_norm; destruct z; lra|]. split; [auto|split; [exact T|]].
  assert (T1 : forall b : R, plus_vec ((b, zeros d) : vec (Datatypes.S d)) (zeros (Datatypes.S d)) = (b, zeros d)).
  { intros b. cbn. rewrite plus_zeros. f_equal; ring. }
  unfold plain. cbn [total]. rewrite !T1. auto. Qed.
End Plain.
