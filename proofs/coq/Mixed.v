(* 15b. Gaussian queries beside other mechanisms of which a guarantee is stated, sampled or not, in one composition.

   Every step is one or the other, and may depend on all earlier outputs: normal noise on a query in R^d that one record
   changes by a vector of norm at most 1 (a sum is such a query: total_change), or any mechanism that is (eps, delta)-private where it runs, with outputs of any kind.
     mixed_private: the guarantee of all steps, each on a random batch at its own rate (1: on all records);
     guarantees_private: of mechanisms with guarantees alone, whatever neighbours are;
     bounded_ratio: what has densities within a factor e^eps is (eps, 0)-private; so are Laplace noise in R^d
       (laplace_pure; on one number exactly: laplace_exact) and selections whose losses are within an interval (bounded_range_pure);
     gdp_private: one mechanism that is mu-GDP;
     renyi_private, zcdp_private: adaptive mechanisms with bounded Renyi divergences of one order, or (xi, rho)-zCDP. *)
From Coquelicot Require Import Coquelicot.
Require Import Reals ZArith List Lra Lia Bool Permutation.
From VerifiedDP Require Import Law HockeyStick Chernoff Checker Link Integral Normal Space Moments Enclosures SampledGaussian Events Discrete Guaranteed Zcdp Extract Mechanism.
Import ListNotations.
Open Scope R_scope.

(* ---------- outputs of one kind or another ---------- *)
Definition either {T U} (A : integral T) (B : integral U) : integral (T + U).
Proof. refine {| is_int := fun f v => exists x y, is_int A (fun t => f (inl t)) x /\ is_int B (fun u => f (inr u)) y /\ v = x + y |}.
  - exists 0, 0. repeat split; try apply int_zero; lra.
  - intros f g v H [x [y [I [J E]]]]. exists x, y. split; [|split; [|exact E]].
    + apply (int_ext A (fun t => f (inl t))); auto.
    + apply (int_ext B (fun u => f (inr u))); auto.
  - intros f g u v [x [y [I [J E]]]] [x' [y' [I' [J' E']]]]. exists (x + x'), (y + y'). split; [|split; [|subst; ring]].
    + now apply (int_plus A (fun t => f (inl t)) (fun t => g (inl t))).
    + now apply (int_plus B (fun t => f (inr t)) (fun t => g (inr t))).
  - intros c f v [x [y [I [J E]]]]. exists (c * x), (c * y). split; [|split; [|subst; ring]].
    + now apply (int_scal A c (fun t => f (inl t))).
    + now apply (int_scal B c (fun t => f (inr t))).
  - intros f g u v H [x [y [I [J E]]]] [x' [y' [I' [J' E']]]]. subst.
    assert (K := int_le A (fun t => f (inl t)) (fun t => g (inl t)) x x' (fun t => H (inl t)) I I').
    assert (L := int_le B (fun t => f (inr t)) (fun t => g (inr t)) y y' (fun t => H (inr t)) J J'). lra. Defined.
Section Either.
Context {T U : Type} (A : integral T) (B : integral U).
Definition on_left (f : T -> R) (y : T + U) : R := match y with inl t => f t | inr _ => 0 end.
Definition on_right (f : U -> R) (y : T + U) : R := match y with inl _ => 0 | inr u => f u end.
Lemma left_int f v : is_int A f v -> is_int (either A B) (on_left f) v.
Proof. intros I. exists v, 0. repeat split; [exact I|apply int_zero|lra]. Qed.
Lemma right_int f v : is_int B f v -> is_int (either A B) (on_right f) v.
Proof. intros I. exists 0, v. repeat split; [apply int_zero|exact I|lra]. Qed.
Lemma left_upto P Q a c : upto A (fun t => pos (P t - a * Q t)) c -> upto (either A B) (fun y => pos (on_left P y - a * on_left Q y)) c.
Proof. intros [g [v [G [I L]]]]. exists (on_left g), v. split; [|split; [now apply left_int|auto]].
  intros [t|u]; simpl; auto. rewrite Rmult_0_r, Rminus_0_r, pos_of_pos; lra. Qed.
Lemma right_upto P Q a c : upto B (fun t => pos (P t - a * Q t)) c -> upto (either A B) (fun y => pos (on_right P y - a * on_right Q y)) c.
Proof. intros [g [v [G [I L]]]]. exists (on_right g), v. split; [|split; [now apply right_int|auto]].
  intros [t|u]; simpl; auto. rewrite Rmult_0_r, Rminus_0_r, pos_of_pos; lra. Qed.
End Either.

(* ---------- what a guarantee is ---------- *)
(* P and Q are densities of outputs, and P - e^e Q and Q - e^e P of every test are at most d *)
Definition private_pair {T} (A : integral T) (e d : R) (P Q : T -> R) := (forall y, 0 <= P y) /\ (forall y, 0 <= Q y) /\
  is_int A P 1 /\ is_int A Q 1 /\ upto A (fun y => pos (P y - exp e * Q y)) d /\ upto A (fun y => pos (Q y - exp e * P y)) d.
Lemma private_sym {T} (A : integral T) e d P Q : private_pair A e d P Q -> private_pair A e d Q P.
Proof. intros [P0 [Q0 [P1 [Q1 [H1 H2]]]]]. repeat split; auto. Qed.
Lemma private_curve {T} (A : integral T) e d P Q a : 0 <= e -> 0 <= d <= 1 -> private_pair A e d P Q ->
  upto A (fun y => pos (P y - a * Q y)) (worst e d a).
Proof. intros He Hd [P0 [Q0 [P1 [Q1 [H1 H2]]]]]. now apply worst_bounds. Qed.

(* P and Q are densities of outputs with at most these curves *)
Definition curves_pair {T} (A : integral T) (c c' : R -> R) (P Q : T -> R) := (forall y, 0 <= P y) /\ (forall y, 0 <= Q y) /\
  is_int A P 1 /\ is_int A Q 1 /\ forall a, upto A (fun y => pos (P y - a * Q y)) (c a) /\ upto A (fun y => pos (Q y - a * P y)) (c' a).
(* they are as far apart as Laplace noise on numbers that differ by r scales, or less; as outputs with these probabilities;
   as discrete noise on whole numbers that differ by D *)
Definition laplace_pair {T} (A : integral T) r := curves_pair A (lap r) (lap r).
Definition outputs_pair {T} (A : integral T) ps qs := curves_pair A (apart ps qs) (apart qs ps).
Definition discrete_pair {T} (A : integral T) square r D := curves_pair A (discrete_curve square r D) (discrete_curve square r D).
Definition meets {T} (A : integral T) (g : guaranteed_step) (P Q : T -> R) :=
  match g_source g with
  | Any => private_pair A (g_eps g) (g_delta g) P Q
  | Laplace_noise => laplace_pair A (g_eps g) P Q
  | Outputs ps qs => outputs_pair A ps qs P Q
  | Whole square D _ _ => discrete_pair A square (g_eps g) D P Q
  end.
Lemma meets_base {T} (A : integral T) g P Q : 0 <= g_eps g -> 0 <= g_delta g <= 1 -> meets A g P Q ->
  ((forall y, 0 <= P y) /\ (forall y, 0 <= Q y) /\ is_int A P 1 /\ is_int A Q 1) /\ forall a,
  upto A (fun y => pos (P y - a * Q y)) (base (g_source g) Remove (g_eps g) (g_delta g) a) /\ upto A (fun y => pos (Q y - a * P y)) (base (g_source g) Add (g_eps g) (g_delta g) a).
Proof. unfold meets. intros He Hd K. destruct (g_source g); cbn [base].
  1:{ split; [repeat split; apply K|]. intros a. split; apply private_curve; auto. now apply private_sym. }
  all: destruct K as [K0 [K1 [K2 [K3 K4]]]]; repeat split; auto; apply K4. Qed.
(* Discrete noise on a whole number is such a step. *)
Theorem discrete_noise_exact square r D c c' : 0 < r -> (Z.abs (c - c') <= D)%Z -> discrete_pair counts square r D (discrete square r c) (discrete square r c').
Proof. intros R H. split; [intros; now apply noise_ge0|]. split; [intros; now apply noise_ge0|]. split; [now apply noise_int|]. split; [now apply noise_int|].
  intros a. split; apply discrete_exact; auto. lia. Qed.

Definition rate_of (s : stated) : R := match s with Gaussian g => q_of g | Guarantee g => g_q g | _ => 1 end.
Section Mixed.
Context {X U : Type} {d : nat} (B : integral U).
Variables (query : list (vec d + U) -> list X -> vec d) (sigma : list (vec d + U) -> R) (other : list (vec d + U) -> list X -> U -> R).
Variables (p : problem) (ss plans : list stated) (o : order).
Hypothesis above : direction p = Above.
Hypothesis some_kind : kinds p <> [].
Hypothesis judged : judge (Some o) p (map Some ss) = true.
Hypothesis planned : Permutation (steps_stated (kinds p) ss) plans.
Hypothesis bounded_query : forall h, unit_change (query h).
Hypothesis moved : forall s, In s plans -> match s with Gaussian _ | Guarantee _ => True | _ => False end.
(* after the outputs h, where the plan says so: *)
Hypothesis noise_enough : forall h g, nth_error plans (length h) = Some (Gaussian g) -> sigma_of g <= sigma h.
Hypothesis other_meets : forall h g, nth_error plans (length h) = Some (Guarantee g) ->
  forall b x, meets B g (other h (x :: b)) (other h b).
(* the density of the next output, after the outputs h *)
Definition step_on (s : stated) (h : list (vec d + U)) (batch : list X) : vec d + U -> R :=
  match s with Gaussian _ => on_left (normals (sigma h) (query h batch)) | _ => on_right (other h batch) end.
Definition mixed (D : list X) (h : list (vec d + U)) (y : vec d + U) : R :=
  match nth_error plans (length h) with Some s => sampled (rate_of s) (step_on s h) D y | None => 0 end.
Theorem mixed_private (x : X) D : forall test u v, (forall outputs, 0 <= test outputs <= 1) ->
  let k := length plans in let E := expect (either (space d) B) in
  E (mixed (match o with Remove => x :: D | Add => D end)) test k [] u -> E (mixed (match o with Remove => D | Add => x :: D end)) test k [] v ->
  u <= exp (epsilon_of p) * v + IZR (bound p) / unit_of p.
Proof. intros test u v Ht k E HU HV. refine (steps_private (either (space d) B) _ _ o p ss plans above some_kind judged planned _ test u v Ht HU HV).
  intros s h NT O Sa. unfold mixed. rewrite NT. destruct s as [g|g| | |]; try (exfalso; exact (moved _ (nth_error_In _ _ NT))); cbn [curve_of order_of rate_of sane] in *; rewrite O; destruct Sa as [Hq Sa].
  - assert (NS := noise_enough h g NT). assert (V := Rinv_0_lt_compat _ Sa).
    apply (sampled_within (either (space d) B) o (q_of g) (stick (/ sigma_of g))); auto.
    + intros; now apply stick_ge0.
    + intros b [y|y]; simpl; [apply normals_ge0|]; lra.
    + intros b. apply left_int, normals_int. lra.
    + intros b z a. apply left_upto, (gaussian_batches (query h) (sigma h) (sigma_of g) a (bounded_query h) (conj Sa NS) b z).
    + intros b z a. apply left_upto, (gaussian_batches (query h) (sigma h) (sigma_of g) a (bounded_query h) (conj Sa NS) b z).
  - destruct Sa as [He [Hd Hs]]. assert (K := fun b z => meets_base B g _ _ He Hd (other_meets h g NT b z)).
    apply (sampled_within_one (either (space d) B) o (g_q g) (base (g_source g) o (g_eps g) (g_delta g))); auto.
    + intros. now apply base_ge0.
    + intros b [y|y]; simpl; [lra|]. apply (K b x).
    + intros b. apply right_int. apply (K b x).
    + destruct o; intros b z a; apply right_upto; apply (K b z). Qed.
End Mixed.

(* ---------- guarantees alone ---------- *)
Section Guarantees.
Context {T : Type} (A : integral T) (P Q : list T -> T -> R) (o : order) (p : problem) (gs plans : list guaranteed_step).
Hypothesis above : direction p = Above.
Hypothesis some_kind : kinds p <> [].
Hypothesis judged : judge (Some o) p (map Some (map Guarantee gs)) = true.
Hypothesis planned : Permutation (steps_stated (kinds p) (map Guarantee gs)) (map Guarantee plans).
(* P and Q: the densities of the next output, after the outputs h, on two data sets *)
(* (in order Add they are exchanged) *)
Hypothesis each_meets : forall h g, nth_error plans (length h) = Some g -> g_q g = 1 /\ match o with Remove => meets A g (P h) (Q h) | Add => meets A g (Q h) (P h) end.
Theorem guarantees_private : forall test u v, (forall outputs, 0 <= test outputs <= 1) ->
  expect A P test (length plans) [] u -> expect A Q test (length plans) [] v ->
  u <= exp (epsilon_of p) * v + IZR (bound p) / unit_of p.
Proof. intros test u v Ht HU HV. rewrite <- (map_length Guarantee) in HU, HV.
  refine (steps_private A P Q o p (map Guarantee gs) (map Guarantee plans) above some_kind judged planned _ test u v Ht HU HV).
  intros s h NT O Sa. rewrite nth_error_map in NT. destruct (nth_error plans (length h)) as [g|] eqn:NG; [|discriminate].
  injection NT as <-. destruct (each_meets h g NG) as [Q1 K]. destruct Sa as [_ [He [Hd _]]]. cbn [order_of] in O.
  unfold within_curve. cbn [curve_of]. rewrite Q1, O.
  destruct o; destruct (meets_base A g _ _ He Hd K) as [[P0 [Q0 [P1 P2]]] C]; repeat split; auto; intros e; rewrite guaranteed_one; apply C. Qed.
End Guarantees.

(* ---------- mechanisms with bounded losses ---------- *)
Theorem bounded_ratio {T} (A : integral T) e (P Q : T -> R) : (forall y, 0 <= P y) -> (forall y, 0 <= Q y) -> is_int A P 1 -> is_int A Q 1 ->
  (forall y, P y <= exp e * Q y) -> (forall y, Q y <= exp e * P y) -> private_pair A e 0 P Q.
Proof. intros P0 Q0 P1 Q1 H1 H2. repeat split; auto; apply (upto_le A _ (fun _ => 0) 0);
    try (intros y; specialize (H1 y); specialize (H2 y); rewrite pos_of_neg; lra); try lra; apply upto_int, int_zero. Qed.
(* The losses ln (P y / Q y) are between c and c + e, whatever c is: so is the exponential mechanism's. *)
Theorem bounded_range_pure {T} (A : integral T) c e (P Q : T -> R) : (forall y, 0 <= P y) -> (forall y, 0 <= Q y) -> is_int A P 1 -> is_int A Q 1 ->
  (forall y, exp c * Q y <= P y <= exp (c + e) * Q y) -> private_pair A e 0 P Q.
Proof. intros P0 Q0 P1 Q1 H.
  assert (L := int_le A _ _ _ _ (fun y => proj1 (H y)) (int_scal A (exp c) _ _ Q1) P1). assert (G := int_le A _ _ _ _ (fun y => proj2 (H y)) P1 (int_scal A (exp (c + e)) _ _ Q1)).
  assert (EC : exp (c + e) = exp c * exp e) by apply exp_plus. assert (X := exp_pos c). assert (Y := exp_pos e).
  apply bounded_ratio; auto; intros y; destruct (H y) as [H1 H2]; specialize (P0 y); specialize (Q0 y).
  - eapply Rle_trans; [exact H2|]. apply Rmult_le_compat_r; auto. rewrite EC. rewrite <- (Rmult_1_l (exp e)) at 2. apply Rmult_le_compat_r; lra.
  - apply Rle_trans with (exp c * exp e * Q y); [rewrite <- (Rmult_1_l (Q y)) at 1; apply Rmult_le_compat_r; lra|].
    replace (exp c * exp e * Q y) with (exp e * (exp c * Q y)) by ring. apply Rmult_le_compat_l; lra. Qed.
(* Laplace noise of scale b in every coordinate of c *)
Definition laplace (b c x : R) := / b * (exp (- Rabs ((x - c) / b)) / 2).
Fixpoint laplaces {d} (b : R) : vec d -> vec d -> R :=
  match d with O => fun _ _ => 1 | Datatypes.S d => fun c y => laplace b (fst c) (fst y) * laplaces b (snd c) (snd y) end.
Fixpoint distance {d} : vec d -> vec d -> R :=
  match d with O => fun _ _ => 0 | Datatypes.S d => fun a b => Rabs (fst a - fst b) + distance (snd a) (snd b) end.
Lemma exp_abs_line : is_line (fun x => exp (- Rabs x)) 2.
Proof. assert (X : forall a b, ex_RInt (fun x => exp (- Rabs x)) a b).
  { intros a b. apply (ex_RInt_continuous (fun x => exp (- Rabs x))). intros x _. apply (continuous_comp (fun x => - Rabs x) exp).
    - apply (continuous_opp Rabs), continuous_Rabs.
    - apply (ex_derive_continuous exp). auto_derive; auto. }
  split; [exact X|]. intros e He. exists (Rmax 0 (ln (2 / e))). split; [apply Rmax_l|]. intros a b Ha Hb.
  assert (M0 := Rmax_l 0 (ln (2 / e))). assert (M1 := Rmax_r 0 (ln (2 / e))). set (M := Rmax _ _) in *.
  assert (EM : exp (- M) <= e / 2).
  { apply Rle_trans with (exp (- ln (2 / e))); [apply exp_le; lra|]. rewrite exp_Ropp, exp_ln by (apply Rdiv_lt_0_compat; lra). right. field. lra. }
  assert (L : RInt (fun x => exp (- Rabs x)) a 0 = 1 - exp a).
  { rewrite (RInt_ext _ exp).
    - apply (is_RInt_unique (V := R_CompleteNormedModule)). replace (1 - exp a) with (minus (exp 0) (exp a)) by (rewrite exp_0; reflexivity).
      apply (is_RInt_derive exp exp); intros x _; [auto_derive; auto; ring|apply (ex_derive_continuous exp); auto_derive; auto].
    - intros x. rewrite Rmin_left, Rmax_right by lra. intros Hx. rewrite Rabs_left by lra. f_equal; ring. }
  assert (G : RInt (fun x => exp (- Rabs x)) 0 b = 1 - exp (- b)).
  { rewrite (RInt_ext _ (fun x => exp (- x))).
    - apply (is_RInt_unique (V := R_CompleteNormedModule)). replace (1 - exp (- b)) with (minus (- exp (- b)) (- exp (- 0)))
        by (rewrite Ropp_0, exp_0; unfold minus, plus, opp; simpl; ring).
      apply (is_RInt_derive (fun x => - exp (- x)) (fun x => exp (- x))); intros x _; [auto_derive; auto; unfold Rminus; ring|].
      apply (ex_derive_continuous (fun x => exp (- x))); auto_derive; auto.
    - intros x. rewrite Rmin_left, Rmax_right by lra. intros Hx. rewrite Rabs_pos_eq by lra. reflexivity. }
  assert (C := RInt_Chasles (fun x => exp (- Rabs x)) a 0 b (X _ _) (X _ _)). unfold plus in C; simpl in C. rewrite <- C, L, G.
  assert (A1 : exp a <= exp (- M)) by (apply exp_le; lra). assert (A2 : exp (- b) <= exp (- M)) by (apply exp_le; lra).
  assert (A3 := exp_pos a). assert (A4 := exp_pos (- b)). apply Rabs_le. lra. Qed.
Section Laplace.
Variable b : R.
Hypothesis Hb : 0 < b.
Lemma laplaces_pos d (c y : vec d) : 0 < laplaces b c y.
Proof. induction d as [|d IH]; simpl; [lra|]. apply Rmult_lt_0_compat; auto. unfold laplace.
  apply Rmult_lt_0_compat; [now apply Rinv_0_lt_compat|]. assert (X := exp_pos (- Rabs ((fst y - fst c) / b))). lra. Qed.
Lemma laplaces_int d (c : vec d) : is_int (space d) (laplaces b c) 1.
Proof. induction d as [|d IH]; simpl; auto. exists (fun x => laplace b (fst c) x * 1). split.
  - intros x. apply (int_scal (space d)), IH.
  - apply (line_ext (laplace b (fst c))); [intros; ring|]. apply (rescaled (fun x => exp (- Rabs x) / 2)); auto.
    replace 1 with (/ 2 * 2) by field. apply (line_ext (fun x => / 2 * exp (- Rabs x))); [intros; field|]. apply line_scal, exp_abs_line. Qed.
Lemma laplaces_ratio d (c v y : vec d) : laplaces b c y <= exp (distance c v / b) * laplaces b v y.
Proof. induction d as [|d IH]; cbn [laplaces distance]; [unfold Rdiv; rewrite Rmult_0_l, exp_0; lra|].
  specialize (IH (snd c) (snd v) (snd y)). assert (P := laplaces_pos d (snd c) (snd y)).
  replace ((Rabs (fst c - fst v) + distance (snd c) (snd v)) / b) with (Rabs (fst c - fst v) / b + distance (snd c) (snd v) / b) by (field; lra).
  rewrite exp_plus. assert (K : laplace b (fst c) (fst y) <= exp (Rabs (fst c - fst v) / b) * laplace b (fst v) (fst y)).
  { unfold laplace. assert (V := Rinv_0_lt_compat _ Hb). set (s := (fst y - fst c) / b). set (t := (fst y - fst v) / b).
    assert (TR : Rabs t <= Rabs (fst c - fst v) / b + Rabs s).
    { replace (Rabs (fst c - fst v) / b) with (Rabs ((fst c - fst v) / b)) by (unfold Rdiv; rewrite Rabs_mult, (Rabs_pos_eq (/ b)); lra).
      replace t with ((fst c - fst v) / b + s) by (unfold s, t; field; lra). apply Rabs_triang. }
    replace (exp (Rabs (fst c - fst v) / b) * (/ b * (exp (- Rabs t) / 2))) with (/ b * (exp (Rabs (fst c - fst v) / b + - Rabs t) / 2)) by (rewrite exp_plus; field; lra).
    apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_r; [lra|]. apply exp_le. lra. }
  apply Rle_trans with (exp (Rabs (fst c - fst v) / b) * laplace b (fst v) (fst y) * (exp (distance (snd c) (snd v) / b) * laplaces b (snd v) (snd y))); [|right; ring].
  apply Rmult_le_compat; auto; [|lra]. unfold laplace. apply Rmult_le_pos; [left; now apply Rinv_0_lt_compat|].
  assert (X := exp_pos (- Rabs ((fst y - fst c) / b))). lra. Qed.
Theorem laplace_pure d (c v : vec d) e : distance c v <= e * b -> private_pair (space d) e 0 (laplaces b c) (laplaces b v).
Proof. intros H. assert (V := Rinv_0_lt_compat _ Hb). assert (L : distance c v / b <= e).
  { apply Rmult_le_reg_r with b; auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
  assert (SY : distance v c = distance c v) by (clear; induction d as [|d IH]; [reflexivity|cbn [distance]; now rewrite Rabs_minus_sym, IH]).
  assert (W := exp_le _ _ L).
  apply bounded_ratio; try (intros; left; now apply laplaces_pos); try apply laplaces_int; intros y;
    (eapply Rle_trans; [apply laplaces_ratio|]); rewrite ?SY; apply Rmult_le_compat_r; auto; left; apply laplaces_pos. Qed.
End Laplace.

(* On one number the curve is exact: lap. *)
Lemma lap_falls r s a : 0 <= r <= s -> lap r a <= lap s a.
Proof. intros H. unfold lap. apply Rle_max_compat_l. destruct (Rle_lt_dec 0 a) as [A|A].
  - assert (sqrt (a * exp (- s)) <= sqrt (a * exp (- r))); [|lra]. apply sqrt_le_1_alt. apply Rmult_le_compat_l; auto. apply exp_le; lra.
  - assert (N : forall k, sqrt (a * exp k) = 0).
    { intros k. apply sqrt_neg_0. assert (0 <= - a * exp k) by (apply Rmult_le_pos; [lra|left; apply exp_pos]). lra. }
    rewrite !N. lra. Qed.
Lemma exp_abs_cont c x : continuous (fun x => exp (- Rabs (x - c))) x.
Proof. apply (continuous_comp (fun x => - Rabs (x - c)) exp); [|apply (ex_derive_continuous exp); auto_derive; auto].
  apply (continuous_opp (fun x => Rabs (x - c))), (continuous_comp (fun x => x - c) Rabs); [|apply continuous_Rabs].
  apply (ex_derive_continuous (fun x => x - c)). auto_derive; auto. Qed.
Lemma exp_after t b c : t <= b -> c <= t -> RInt (fun x => exp (- Rabs (x - c))) t b = exp (c - t) - exp (c - b).
Proof. intros H C. rewrite (RInt_ext _ (fun x => exp (c - x))).
  - apply (is_RInt_unique (V := R_CompleteNormedModule)). replace (exp (c - t) - exp (c - b)) with (minus (- exp (c - b)) (- exp (c - t))) by (unfold minus, plus, opp; simpl; ring).
    apply (is_RInt_derive (fun x => - exp (c - x)) (fun x => exp (c - x))); intros x _; [auto_derive; auto; unfold Rminus; ring|].
    apply (ex_derive_continuous (fun x => exp (c - x))); auto_derive; auto.
  - intros x. rewrite Rmin_left, Rmax_right by lra. intros Hx. rewrite Rabs_pos_eq by lra. f_equal; ring. Qed.
Lemma exp_before t b c : t <= b -> b <= c -> RInt (fun x => exp (- Rabs (x - c))) t b = exp (b - c) - exp (t - c).
Proof. intros H C. rewrite (RInt_ext _ (fun x => exp (x - c))).
  - apply (is_RInt_unique (V := R_CompleteNormedModule)). apply (is_RInt_derive (fun x => exp (x - c)) (fun x => exp (x - c))); intros x _; [auto_derive; auto; unfold Rminus; ring|].
    apply (ex_derive_continuous (fun x => exp (x - c))); auto_derive; auto.
  - intros x. rewrite Rmin_left, Rmax_right by lra. intros Hx. rewrite Rabs_left1 by lra. f_equal; ring. Qed.
Lemma exp_abs_shifted c : is_line (fun x => exp (- Rabs (x - c))) 2.
Proof. replace 2 with (/ 1 * 2) by field. apply (line_ext (fun x => exp (- Rabs (1 * x + - c)))); [intros; do 3 f_equal; ring|].
  apply (line_affine (fun x => exp (- Rabs x))); [lra|apply exp_abs_line]. Qed.
Lemma lap_upto v a : 0 <= v -> upto line (fun x => pos (exp (- Rabs (x - v)) - a * exp (- Rabs (x - 0)))) (2 * lap v a).
Proof. intros Hv. destruct (lap_ge v a) as [L0 [L1 L2]]. assert (EV := exp_pos v). assert (EN := exp_pos (- v)).
  assert (VV : exp v * exp (- v) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
  assert (RT : forall x, exp (- v) * exp (- Rabs (x - 0)) <= exp (- Rabs (x - v)) <= exp v * exp (- Rabs (x - 0))).
  { intros x. rewrite <- !exp_plus. assert (T1 := Rabs_triang (x - v) v). assert (T2 := Rabs_triang (x - 0) (- v)). rewrite Rabs_Ropp in T2.
    rewrite (Rabs_pos_eq v) in * by auto. replace (x - v + v) with (x - 0) in T1 by ring. replace (x - 0 + - v) with (x - v) in T2 by ring. split; apply exp_le; lra. }
  destruct (Rle_lt_dec a (exp (- v))) as [G|G].
  { apply (upto_le line _ (fun x => exp (- Rabs (x - v)) - a * exp (- Rabs (x - 0))) (2 - a * 2)); [|lra|].
    - intros x. assert (X := exp_pos (- Rabs (x - 0))). specialize (RT x). rewrite pos_of_pos; [lra|].
      assert (a * exp (- Rabs (x - 0)) <= exp (- v) * exp (- Rabs (x - 0))) by (apply Rmult_le_compat_r; lra). lra.
    - apply upto_int. apply int_minus; [apply exp_abs_shifted|]. apply (int_scal line), exp_abs_shifted. }
  destruct (Rle_lt_dec (exp v) a) as [F|F].
  { apply (upto_le line _ (fun _ => 0) 0); [|lra|apply upto_int, int_zero]. intros x. assert (X := exp_pos (- Rabs (x - 0))). specialize (RT x).
    assert (exp v * exp (- Rabs (x - 0)) <= a * exp (- Rabs (x - 0))) by (apply Rmult_le_compat_r; lra). rewrite pos_of_neg; lra. }
  assert (A0 : 0 < a) by lra. set (t := (v + ln a) / 2). assert (LA : exp (2 * t - v) = a) by (replace (2 * t - v) with (ln a) by (unfold t; field); now apply exp_ln).
  assert (T0 : 0 < t < v).
  { assert (- v < ln a) by (apply exp_lt_inv; rewrite exp_ln; lra). assert (ln a < v) by (apply exp_lt_inv; rewrite exp_ln; lra). unfold t; lra. }
  set (f := fun x => exp (- Rabs (x - v)) - a * exp (- Rabs (x - 0))).
  assert (FE : forall x, f x = exp (- Rabs (x - v)) - exp (2 * t - v - Rabs (x - 0))).
  { intros x. unfold f. rewrite <- LA at 1. rewrite <- exp_plus. do 2 f_equal; ring. }
  assert (FP : forall x, t <= x -> 0 <= f x).
  { intros x Hx. rewrite FE. apply Rge_le, Rge_minus, Rle_ge, exp_le. rewrite (Rabs_pos_eq (x - 0)) by lra. destruct (Rle_lt_dec v x); [rewrite Rabs_pos_eq by lra|rewrite Rabs_left by lra]; lra. }
  assert (FN : forall x, x <= t -> f x <= 0).
  { intros x Hx. rewrite FE. apply Rle_minus. apply exp_le. rewrite (Rabs_left1 (x - v)) by lra.
    destruct (Rle_lt_dec 0 x); [rewrite Rabs_pos_eq by lra|rewrite Rabs_left by lra]; lra. }
  assert (FC : forall x, continuous f x).
  { intros x. unfold f. apply (continuous_minus (fun x => exp (- Rabs (x - v))) (fun x => a * exp (- Rabs (x - 0)))); [apply exp_abs_cont|].
    apply (continuous_scal_r a (fun x => exp (- Rabs (x - 0)))), exp_abs_cont. }
  assert (FX : forall x y, ex_RInt f x y) by (intros; apply (ex_RInt_continuous f); intros; apply FC).
  assert (PX : forall x y, ex_RInt (fun x => pos (f x)) x y).
  { intros x y. apply (ex_RInt_ext (fun x => (f x + Rabs (f x)) * / 2)).
    - intros z _. unfold pos, Rabs, Rmax. destruct (Rcase_abs (f z)), (Rle_dec 0 (f z)); lra.
    - apply (ex_RInt_continuous (fun x => (f x + Rabs (f x)) * / 2)). intros z _.
      apply (continuous_mult (fun x => f x + Rabs (f x)) (fun _ => / 2)); [|apply continuous_const].
      apply (continuous_plus f (fun x => Rabs (f x))); [apply FC|]. apply (continuous_comp f Rabs); [apply FC|apply continuous_Rabs]. }
  assert (VAL : 2 * (1 - exp (t - v)) <= 2 * lap v a).
  { assert (S : sqrt (a * exp (- v)) = exp (t - v)).
    { rewrite <- LA, <- exp_plus. replace (2 * t - v + - v) with ((t - v) + (t - v)) by ring. rewrite exp_plus. apply sqrt_square. left; apply exp_pos. }
    rewrite S in L2. lra. }
  exists (fun x => pos (f x)), (2 * (1 - exp (t - v))). split; [intros; apply Rle_refl|split; [|exact VAL]]. split; [exact PX|]. intros e He.
  exists (Rmax v (ln ((exp v + a) / e))). assert (M1 := Rmax_l v (ln ((exp v + a) / e))). assert (M2 := Rmax_r v (ln ((exp v + a) / e))). set (M := Rmax _ _) in *.
  split; [lra|]. intros x y Hx Hy.
  assert (C1 := RInt_Chasles (fun x => pos (f x)) x t y (PX _ _) (PX _ _)). unfold plus in C1; simpl in C1. rewrite <- C1.
  assert (Z : RInt (fun x => pos (f x)) x t = 0).
  { rewrite (RInt_ext _ (fun _ => 0)).
    - rewrite RInt_const. unfold scal; simpl; unfold mult; simpl. ring.
    - intros z. rewrite Rmin_left, Rmax_right by lra. intros Hz. apply pos_of_neg, FN. lra. }
  assert (Y : RInt (fun x => pos (f x)) t y = RInt f t y).
  { apply RInt_ext. intros z. rewrite Rmin_left, Rmax_right by lra. intros Hz. apply pos_of_pos, FP. lra. }
  assert (PE : forall c x y, ex_RInt (fun x => exp (- Rabs (x - c))) x y) by (intros; apply (ex_RInt_continuous (fun x => exp (- Rabs (x - c)))); intros; apply exp_abs_cont).
  assert (V1 : RInt f t y = RInt (fun x => exp (- Rabs (x - v))) t y - a * RInt (fun x => exp (- Rabs (x - 0))) t y).
  { apply (is_RInt_unique (V := R_CompleteNormedModule)). apply (is_RInt_minus (fun x => exp (- Rabs (x - v))) (fun x => a * exp (- Rabs (x - 0)))).
    - apply (RInt_correct (fun x => exp (- Rabs (x - v)))), PE.
    - apply (is_RInt_scal (fun x => exp (- Rabs (x - 0))) t y a), (RInt_correct (fun x => exp (- Rabs (x - 0)))), PE. }
  assert (C2 := RInt_Chasles (fun x => exp (- Rabs (x - v))) t v y (PE _ _ _) (PE _ _ _)). unfold plus in C2; simpl in C2.
  rewrite Z, Y, V1, <- C2, exp_before, exp_after, exp_after by lra. replace (v - v) with 0 by ring. rewrite exp_0.
  assert (AT : a * exp (0 - t) = exp (t - v)) by (rewrite <- LA, <- exp_plus; f_equal; ring).
  assert (YE : (exp v + a) * exp (- y) <= e).
  { assert (K : exp (- y) <= exp (- ln ((exp v + a) / e))) by (apply exp_le; lra). rewrite (exp_Ropp (ln _)), exp_ln in K by (apply Rdiv_lt_0_compat; lra).
    apply (Rmult_le_compat_l (exp v + a)) in K; [|lra]. replace ((exp v + a) * / ((exp v + a) / e)) with e in K by (field; lra). exact K. }
  replace (exp (v - y)) with (exp v * exp (- y)) by (rewrite <- exp_plus; f_equal; ring). replace (exp (0 - y)) with (exp (- y)) by (f_equal; ring).
  assert (EY := exp_pos (- y)). assert (B1 : 0 <= exp v * exp (- y)) by (apply Rmult_le_pos; lra). assert (B2 : 0 <= a * exp (- y)) by (apply Rmult_le_pos; lra).
  apply Rabs_le. lra. Qed.
Lemma scaled_upto f b c k : 0 < b -> upto line f k -> upto line (fun x => / b * f ((x - c) / b)) k.
Proof. intros Hb [g [w [G [I L]]]]. exists (fun x => / b * g ((x - c) / b)), w. split; [|split; [now apply rescaled|auto]].
  intros x. apply Rmult_le_compat_l; [left; now apply Rinv_0_lt_compat|apply G]. Qed.
Theorem laplace_exact b r c c' : 0 < b -> Rabs (c - c') <= r * b -> laplace_pair line r (laplace b c) (laplace b c').
Proof. intros Hb Hr. assert (V := Rinv_0_lt_compat _ Hb).
  assert (P0 : forall c y, 0 <= laplace b c y).
  { intros k y. unfold laplace. assert (X := exp_pos (- Rabs ((y - k) / b))). apply Rmult_le_pos; lra. }
  assert (P1 : forall c, is_int line (laplace b c) 1).
  { intros k. apply (rescaled (fun x => exp (- Rabs x) / 2)); auto. replace 1 with (/ 2 * 2) by field.
    apply (line_ext (fun x => / 2 * exp (- Rabs x))); [intros; field|]. apply line_scal, exp_abs_line. }
  assert (H : forall c c' a, Rabs (c - c') <= r * b -> upto line (fun y => pos (laplace b c y - a * laplace b c' y)) (lap r a)).
  { intros k k' a Hk. set (v := Rabs (k - k') / b). assert (V0 : 0 <= v) by (apply Rmult_le_pos; [apply Rabs_pos|lra]).
    assert (VR : v <= r) by (apply Rmult_le_reg_r with b; auto; unfold v, Rdiv; rewrite Rmult_assoc, Rinv_l; lra).
    assert (K : forall x, pos (laplace b k x - a * laplace b k' x) =
      / b * (/ 2 * pos (exp (- Rabs ((x - k') / b - (k - k') / b)) - a * exp (- Rabs ((x - k') / b - 0))))).
    { intros x. rewrite !pos_scal by lra. f_equal. unfold laplace. replace ((x - k') / b - (k - k') / b) with ((x - k) / b) by (field; lra). rewrite Rminus_0_r. field. lra. }
    apply (upto_le line _ (fun x => / b * (fun z => / 2 * pos (exp (- Rabs (z - (k - k') / b)) - a * exp (- Rabs (z - 0)))) ((x - k') / b)) (lap r a));
      [intros; rewrite K; apply Rle_refl|lra|].
    apply (scaled_upto (fun z => / 2 * pos (exp (- Rabs (z - (k - k') / b)) - a * exp (- Rabs (z - 0)))) b k'); auto.
    apply (upto_le line _ (fun z => / 2 * pos (exp (- Rabs (z - (k - k') / b)) - a * exp (- Rabs (z - 0)))) (/ 2 * (2 * lap v a))); [intros; apply Rle_refl| |].
    { assert (lap v a <= lap r a) by (apply lap_falls; lra). lra. }
    apply upto_scal; [lra|]. destruct (Rle_lt_dec 0 (k - k')) as [S|S].
    - replace ((k - k') / b) with v by (unfold v; rewrite Rabs_pos_eq; auto). now apply lap_upto.
    - assert (E : (k - k') / b = - v) by (unfold v; rewrite Rabs_left by auto; field; lra). rewrite E.
      destruct (lap_upto v a V0) as [g [w [G [I L]]]]. exists (fun x => g (- x)), w. split; [|split; [now apply line_mirror|auto]].
      intros x. specialize (G (- x)). eapply Rle_trans; [|exact G]. right. rewrite <- (Rabs_Ropp (x - - v)), <- (Rabs_Ropp (x - 0)). do 2 f_equal; [|f_equal]; do 3 f_equal; ring. }
  split; [auto|split; [auto|split; [auto|split; [auto|]]]]. intros a. split; apply H; auto. now rewrite Rabs_minus_sym. Qed.

(* ---------- one mechanism that is mu-GDP ---------- *)
Theorem gdp_private {T} (A : integral T) (P Q : T -> R) mu p g : 0 <= mu <= / sigma_of g -> shows p g -> direction p = Above ->
  (forall a, 0 <= a -> upto A (fun y => pos (P y - a * Q y)) (tip mu a)) -> forall test u v, (forall y, 0 <= test y <= 1) ->
  (forall y, 0 <= P y) -> (forall y, 0 <= Q y) ->
  is_int A (fun y => P y * test y) u -> is_int A (fun y => Q y * test y) v -> u <= exp (epsilon_of p) * v + IZR (bound p) / unit_of p.
Proof. intros Hm shown above H test u v Ht P0 Q0 HU HV. destruct (shown_above p g shown above) as [Sg K]. assert (V := Rinv_0_lt_compat _ Sg).
  set (e := exp (epsilon_of p)) in *. assert (E0 : 0 < e) by apply exp_pos.
  assert (I : is_int A (fun y => P y * test y - e * (Q y * test y)) (u - e * v)) by now apply int_minus, int_scal.
  assert (L : u - e * v <= IZR (bound p) / unit_of p); [|lra]. apply (upto_int_le A _ _ _ I).
  apply (upto_le A _ (fun y => pos (P y - e * Q y)) (tip mu e)); [|eapply Rle_trans; [now apply (tip_grows mu (/ sigma_of g))|exact K]|apply H; lra].
  intros y. specialize (Ht y). assert (Z := pos_ge0 (P y - e * Q y)). assert (Z1 := pos_ge (P y - e * Q y)).
  replace (P y * test y - e * (Q y * test y)) with ((P y - e * Q y) * test y) by ring. nra. Qed.

(* ---------- zCDP ---------- *)
(* the Renyi divergences of every order 1 + l > 1 are at most xi + rho (1 + l) *)
Definition zcdp {T} (A : integral T) (xi rho : R) (P Q : T -> R) :=
  forall l, 0 < l -> moment_bounded l A P Q (exp (l * (xi + rho * (l + 1)))).
(* each step in turn by its xi and rho of the list, whatever the outputs before it *)
Fixpoint all_zcdp {T} (A : integral T) (P Q : list T -> T -> R) (steps : list (R * R)) (h : list T) : Prop :=
  match steps with [] => True | s :: steps => zcdp A (fst s) (snd s) (P h) (Q h) /\ forall y, all_zcdp A P Q steps (y :: h) end.
(* the divergence of order 1 + l of each step in turn is at most e of the list *)
Fixpoint all_renyi {T} (A : integral T) (l : R) (P Q : list T -> T -> R) (es : list R) (h : list T) : Prop :=
  match es with [] => True | e :: es => moment_bounded l A (P h) (Q h) (exp (l * e)) /\ forall y, all_renyi A l P Q es (y :: h) end.
Theorem renyi_private {T} (A : integral T) (P Q : list T -> T -> R) es p z o : kinds p = [] -> judge (Some o) p [Some (Zcdp z)] = true ->
  S (fun e => e) es <= xi_of z + rho_of z * (l_of z + 1) -> all_renyi A (l_of z) P Q es [] -> forall test u v, (forall outputs, 0 <= test outputs <= 1) ->
  expect A P test (length es) [] u -> expect A Q test (length es) [] v -> u <= exp (epsilon_of p) * v + IZR (bound p) / unit_of p.
Proof. intros K J X Z test u v Ht HU HV. unfold judge in J. rewrite K in J. apply andb_prop in J as [_ J].
  destruct (by_moment_ok z p J) as [_ [L0 B]]. set (l := l_of z) in *. set (m := fun e => exp (l * e)).
  assert (AM : forall es h, all_renyi A l P Q es h -> all_moments l A P Q (map m es) h).
  { induction es0 as [|e es0 IH]; intros h H; simpl; auto. destruct H as [H1 H2]. split; [exact H1|]. intros y. apply IH, H2. }
  assert (PR : Moments.product (map m es) = exp (l * S (fun e => e) es)).
  { clear. induction es as [|e es IH]; simpl; [now rewrite Rmult_0_r, exp_0|]. rewrite IH. unfold m. rewrite <- exp_plus. f_equal. ring. }
  assert (M0 : Forall (Rle 0) (map m es)) by (apply Forall_forall; intros w Hy; apply in_map_iff in Hy as [e [<- _]]; left; apply exp_pos).
  rewrite <- (map_length m) in HU, HV.
  destruct (adaptive_moments l L0 A P Q test Ht _ _ _ _ M0 (AM es [] Z) HU HV) as [_ G]. specialize (G (epsilon_of p)). rewrite PR in G.
  assert (CP := C_pos l). assert (W : exp (l * S (fun e => e) es) <= exp (l * (xi_of z + rho_of z * (l + 1)))) by (apply exp_le, Rmult_le_compat_l; lra).
  assert (EP := exp_pos (- l * epsilon_of p)). assert (C l * exp (l * S (fun e => e) es) * exp (- l * epsilon_of p)
    <= C l * exp (l * (xi_of z + rho_of z * (l + 1))) * exp (- l * epsilon_of p)); [|lra].
  apply Rmult_le_compat_r; [lra|]. apply Rmult_le_compat_l; lra. Qed.
Theorem zcdp_private {T} (A : integral T) (P Q : list T -> T -> R) steps p z o : kinds p = [] -> judge (Some o) p [Some (Zcdp z)] = true ->
  S fst steps <= xi_of z -> S snd steps <= rho_of z -> all_zcdp A P Q steps [] -> forall test u v, (forall outputs, 0 <= test outputs <= 1) ->
  expect A P test (length steps) [] u -> expect A Q test (length steps) [] v -> u <= exp (epsilon_of p) * v + IZR (bound p) / unit_of p.
Proof. intros K J X Y Z test u v Ht HU HV. set (l := l_of z). set (e := fun s : R * R => fst s + snd s * (l + 1)).
  assert (L0 : 0 < l) by (assert (J' := J); unfold judge in J'; rewrite K in J'; apply andb_prop in J' as [_ J']; destruct (by_moment_ok z p J') as [_ [L _]]; exact L).
  rewrite <- (map_length e) in HU, HV. refine (renyi_private A P Q (map e steps) p z o K J _ _ test u v Ht HU HV); fold l.
  - assert (E : S (fun e => e) (map e steps) = S fst steps + S snd steps * (l + 1)) by (clear; induction steps as [|s ss IH]; simpl; [ring|rewrite IH; unfold e; ring]).
    rewrite E. apply Rplus_le_compat; auto. apply Rmult_le_compat_r; lra.
  - clear - Z L0. assert (AM : forall ss h, all_zcdp A P Q ss h -> all_renyi A l P Q (map e ss) h); [|now apply AM].
    induction ss as [|s ss IH]; intros h H; simpl; auto. destruct H as [H1 H2]. split; [exact (H1 l L0)|]. intros y. apply IH, H2. Qed.
