(* 13. The sampled Gaussian's own loss law, and a program that puts an integer law above it.

   A step adds normal noise of scale sigma to a query on a random batch, each record being in it with probability q.
   `curve o q m a` is its hockey-stick divergence of order a (curve_int), m = 1/sigma, for a record removed or added.
   `covers` decides that the law of an integer law v is above it:
     on the grid: at a = e^(h i) it bounds the curve by one test, {x > t}: whatever t is,
                  curve <= P(x > t) - a Q(x > t) + |ratio at t - a|                                 (remove_test, add_test)
     between:     the curve is convex in a, and delta of the integer law is linear in a there       (grid_above).
   The t are hints: the best one is where the ratio of the densities is a. *)
Require Import Reals ZArith List Lra Lia Bool.
From Coquelicot Require Import Coquelicot.
From VerifiedDP Require Import Law ConnectTheDots Kronecker Exponential Checker Link Integral Normal Enclosures.
Import ListNotations.
Open Scope R_scope.

(* ---------- divergences of a pair, as a curve in a = e^eps ---------- *)
Section Curve.
Context {T : Type} (A : integral T) (P Q : T -> R) (C : R -> R).
Hypothesis P0 : forall x, 0 <= P x.
Hypothesis Q0 : forall x, 0 <= Q x.
Hypothesis P1 : is_int A P 1.
Hypothesis CI : forall a, 0 <= a -> is_int A (fun x => pos (P x - a * Q x)) (C a).
Lemma curve_0 : C 0 = 1.
Proof. apply (int_unique A _ _ _ (CI 0 (Rle_refl 0))). apply (int_ext A P); auto.
  intros x. rewrite Rmult_0_l, Rminus_0_r. symmetry. now apply pos_of_pos. Qed.
Lemma curve_antitone a b : 0 <= a <= b -> C b <= C a.
Proof. intros H. apply (int_le A _ _ _ _ (fun x => pos_le (P x - b * Q x) (P x - a * Q x)
    ltac:(assert (a * Q x <= b * Q x) by (apply Rmult_le_compat_r; [apply Q0|lra]); lra)) (CI b ltac:(lra)) (CI a ltac:(lra))). Qed.
Lemma curve_chord a b x : 0 <= a < b -> a <= x <= b -> (b - a) * C x <= (b - x) * C a + (x - a) * C b.
Proof. intros H Hx. refine (int_le A _ _ _ _ _ (int_scal A (b - a) _ _ (CI x ltac:(lra)))
    (int_plus A _ _ _ _ (int_scal A (b - x) _ _ (CI a ltac:(lra))) (int_scal A (x - a) _ _ (CI b ltac:(lra))))).
  intros y. cbv beta. rewrite !pos_scal by lra.
  replace ((b - a) * (P y - x * Q y)) with ((b - x) * (P y - a * Q y) + (x - a) * (P y - b * Q y)) by ring. apply pos_add. Qed.

End Curve.
(* What the divergences of any pair have: 1 at 0, falling, convex. *)
Definition is_curve (C : R -> R) := C 0 <= 1 /\ (forall a b, 0 <= a <= b -> C b <= C a) /\
  forall a b x, 0 <= a < b -> a <= x <= b -> (b - a) * C x <= (b - x) * C a + (x - a) * C b.
Lemma pair_is_curve {T} (A : integral T) (P Q : T -> R) (C : R -> R) : (forall x, 0 <= P x) -> (forall x, 0 <= Q x) ->
  is_int A P 1 -> (forall a, 0 <= a -> is_int A (fun x => pos (P x - a * Q x)) (C a)) -> is_curve C.
Proof. intros P0 Q0 P1 CI. split; [right; now apply (curve_0 A P Q)|split].
  - now apply (curve_antitone A P Q).
  - now apply (curve_chord A P Q). Qed.

(* ---------- on a grid ---------- *)
Section OnGrid.
Variable C : R -> R.
Hypothesis HC : is_curve C.
Variables (h s : R) (j : Z).  (* the mass at infinity is j / s *)
Hypothesis Hh : 0 < h.
Hypothesis Hs : 0 < s.
Hypothesis Hj : (0 <= j)%Z.
Definition stick_of (i : Z) (l : list Z) (e : R) := IZR j / s + E (w e) (atoms h s i l).
(* the curve is below at every grid point from i on *)
Fixpoint dots_above (i : Z) (l : list Z) : Prop :=
  match l with [] => True | _ :: m => C (exp (h * IZR i)) <= stick_of i l (h * IZR i) /\ dots_above (i + 1) m end.
Lemma discounted l : forall i e, e <= h * IZR i ->
  E (w e) (atoms h s i l) = E one (atoms h s i l) - exp e * E (fun z => exp (- z)) (atoms h s i l).
Proof. induction l as [|m l IH]; intros i e He; cbn [atoms E fst snd]; [ring|].
  rewrite IH by (rewrite plus_IZR; nra). rewrite w_at by auto.
  replace (e - h * IZR i) with (e + - (h * IZR i)) by ring. rewrite exp_plus. unfold one. ring. Qed.
Lemma w_below i m l e : h * IZR i <= e ->
  E (w e) (atoms h s i (m :: l)) = E (w e) (atoms h s (i + 1) l).
Proof. intros H. cbn [atoms E fst snd]. rewrite w_before by auto. ring. Qed.
Lemma linear_between (u v : R) (K L : R) (a b x : R) : 0 <= a < b -> a <= x <= b ->
  u <= K - a * L -> v <= K - b * L -> (b - x) * u + (x - a) * v <= (b - a) * (K - x * L).
Proof. intros. assert ((b - x) * u <= (b - x) * (K - a * L)) by (apply Rmult_le_compat_l; lra).
  assert ((x - a) * v <= (x - a) * (K - b * L)) by (apply Rmult_le_compat_l; lra). lra. Qed.
Lemma chord_below K L a b x : 0 <= a < b -> a <= x <= b -> C a <= K - a * L -> C b <= K - b * L -> C x <= K - x * L.
Proof. intros H Hx Ha Hb. apply Rmult_le_reg_l with (b - a); [lra|].
  eapply Rle_trans; [now apply HC|]. now apply linear_between. Qed.
Lemma from_grid l : l <> [] -> nnv l -> forall i, dots_above i l -> forall e, h * IZR i <= e -> C (exp e) <= stick_of i l e.
Proof. induction l as [|m l IH]; intros N V i D e He; [easy|]. destruct D as [D1 D2]. inversion V as [|? ? Hm Vl]; subst.
  unfold stick_of in *. rewrite w_below in * by (auto; lra). destruct l as [|m' l].
  - cbn [atoms E] in *. eapply Rle_trans; [|exact D1]. apply HC. split; [left; apply exp_pos|now apply exp_le].
  - destruct (Rle_lt_dec (h * IZR (i + 1)) e) as [G|G]; [apply IH; auto; discriminate|].
    assert (X : h * IZR (i + 1) = h * IZR i + h) by (rewrite plus_IZR; ring).
    assert (U := IH ltac:(discriminate) Vl (i + 1)%Z D2 (h * IZR (i + 1)) (Rle_refl _)).
    rewrite discounted in D1, U |- * by lra. set (K := E one _) in *. set (L := E (fun z => exp (- z)) _) in *.
    replace (IZR j / s + (K - exp e * L)) with (IZR j / s + K - exp e * L) by ring.
    apply (chord_below (IZR j / s + K) L (exp (h * IZR i)) (exp (h * IZR (i + 1)))); try lra.
    + split; [left; apply exp_pos|apply exp_increasing; lra].
    + split; apply exp_le; lra. Qed.
Theorem grid_above l i : l <> [] -> nnv l -> 1 <= IZR j / s + E one (atoms h s i l) -> dots_above i l ->
  forall e, C (exp e) <= stick_of i l e.
Proof. intros N V M D e. destruct (Rle_lt_dec (h * IZR i) e) as [G|G]; [now apply from_grid|].
  assert (U := from_grid l N V i D _ (Rle_refl _)). unfold stick_of in *. rewrite discounted in U |- * by lra.
  set (K := E one _) in *. set (L := E (fun z => exp (- z)) _) in *.
  replace (IZR j / s + (K - exp e * L)) with (IZR j / s + K - exp e * L) by ring.
  apply (chord_below (IZR j / s + K) L 0 (exp (h * IZR i))); try lra.
  - split; [lra|apply exp_pos].
  - split; [left; apply exp_pos|apply exp_le; lra].
  - destruct HC as [C0 _]. lra. Qed.
End OnGrid.

(* ---------- the curve of a step on a random batch, from that of the step itself ---------- *)
Section OnBatch.
Context {T : Type} (A : integral T) (P Q : T -> R) (c : R -> R) (q : R).
Hypothesis P0 : forall x, 0 <= P x.
Hypothesis Q0 : forall x, 0 <= Q x.
Hypothesis Hq : 0 < q <= 1.
Lemma remove_int a : (forall a, is_int A (fun x => pos (P x - a * Q x)) (c a)) ->
  is_int A (fun x => pos (mix q P Q x - a * Q x)) (remove_curve q c a).
Proof. intros H. unfold remove_curve, mix. apply (int_ext A (fun x => q * pos (P x - (a - 1 + q) / q * Q x))).
  - intros x. rewrite pos_scal by lra. f_equal. field; lra.
  - now apply int_scal. Qed.
Lemma add_int a : 0 <= a -> (forall a, is_int A (fun x => pos (Q x - a * P x)) (c a)) ->
  is_int A (fun x => pos (Q x - a * mix q P Q x)) (add_curve q c a).
Proof. intros Ha H. unfold add_curve, mix. destruct (Rlt_dec 0 (1 - a * (1 - q))) as [G|G].
  - set (r := 1 - a * (1 - q)) in *. apply (int_ext A (fun x => r * pos (Q x - a * q / r * P x))); [|now apply int_scal].
    intros x. rewrite pos_scal by lra. f_equal. unfold r in *. field; lra.
  - apply (int_ext A (fun _ => 0)); [|apply int_zero]. intros x. symmetry. apply pos_of_neg.
    assert (0 <= a * q * P x) by (apply Rmult_le_pos; [apply Rmult_le_pos; lra|auto]). specialize (Q0 x). nra. Qed.
End OnBatch.

(* ---------- the pair ---------- *)
Inductive order := Remove | Add.
(* a record removed or added, or in place of another one *)
Inductive way := Moved (o : order) | Replaced.
Coercion Moved : order >-> way.
Definition shifted (m x : R) := std (x - m).
Definition pair_P (o : way) (q m : R) : R -> R := match o with Add => std | _ => mix q (shifted m) std end.
Definition pair_Q (o : way) (q m : R) : R -> R :=
  match o with Remove => std | Add => mix q (shifted m) std | Replaced => mix q (shifted (- m)) std end.
Definition curve (o : way) (q m : R) : R -> R :=
  match o with
  | Remove => remove_curve q (stick m)
  | Add => add_curve q (stick m)
  | Replaced => fun a => line_value (fun x => pos (pair_P Replaced q m x - a * pair_Q Replaced q m x))
  end.
Section Pair.
Variables (q m : R).
Hypothesis Hq : 0 < q <= 1.
Hypothesis Hm : 0 < m.
Lemma std_int : is_line std 1.
Proof. apply (line_ext (fun x => std (x - 0))); [intros; now rewrite Rminus_0_r|apply std_line]. Qed.
Lemma mix_int v : is_line (mix q (shifted v) std) 1.
Proof. replace 1 with ((1 - q) * 1 + q * 1) by ring. unfold mix, shifted.
  apply line_plus; apply line_scal; [apply std_int|apply std_line]. Qed.
Lemma mix_ge0 v x : 0 <= mix q (shifted v) std x.
Proof. unfold mix, shifted. assert (A := std_ge0 x). assert (B := std_ge0 (x - v)).
  apply Rplus_le_le_0_compat; apply Rmult_le_pos; lra. Qed.
Lemma pair_P_int o : is_line (pair_P o q m) 1.
Proof. destruct o as [[]|]; simpl; auto using mix_int, std_int. Qed.
Lemma pair_Q_int o : is_line (pair_Q o q m) 1.
Proof. destruct o as [[]|]; simpl; auto using mix_int, std_int. Qed.
Lemma pair_ge0 o x : 0 <= pair_P o q m x /\ 0 <= pair_Q o q m x.
Proof. destruct o as [[]|]; simpl; auto using mix_ge0, std_ge0. Qed.
Lemma mix_cont v x : continuous (mix q (shifted v) std) x.
Proof. apply (ex_derive_continuous (mix q (shifted v) std)). unfold mix, shifted, std, g. auto_derive; auto. Qed.
Lemma replaced_int a : 0 <= a -> is_line (fun x => pos (pair_P Replaced q m x - a * pair_Q Replaced q m x)) (curve Replaced q m a).
Proof. intros Ha. cbn [curve]. set (F := fun x => pos _). enough (H : exists v, is_line F v) by (destruct H as [v V]; now rewrite (line_lim F v V)).
  apply (dominated_int F (pair_P Replaced q m) 1); [lra| | | |apply pair_P_int].
  - intros b c. apply (ex_RInt_continuous F). intros x _. set (G := fun x => pair_P Replaced q m x - a * pair_Q Replaced q m x).
    assert (K : continuous G x).
    { apply (continuous_minus (pair_P Replaced q m) (fun x => a * pair_Q Replaced q m x)); [apply mix_cont|].
      apply (continuous_scal_r a (pair_Q Replaced q m)), mix_cont. }
    apply (continuous_ext (fun x => / 2 * (Rabs (G x) + G x))).
    { intros y. change (/ 2 * (Rabs (G y) + G y) = pos (G y)). unfold pos, Rmax. destruct (Rle_dec 0 (G y)); [rewrite Rabs_pos_eq by auto|rewrite Rabs_left by lra]; field. }
    apply (continuous_scal_r (/ 2) (fun x => Rabs (G x) + G x)). apply (continuous_plus (fun x => Rabs (G x)) G); auto.
    apply (continuous_comp G Rabs); auto. apply continuous_Rabs.
  - intros x. unfold F. destruct (pair_ge0 Replaced x) as [A B]. split; [apply pos_ge0|]. apply Rmax_lub; [lra|].
    assert (0 <= a * pair_Q Replaced q m x) by now apply Rmult_le_pos. lra.
  - intros x. apply pair_ge0. Qed.
Lemma stick_swapped a : is_line (fun x => pos (std x - a * std (x - m))) (stick m a).
Proof. replace (stick m a) with (/ 1 * stick m a) by field.
  apply (line_ext (fun x => (fun y => pos (std (- y - m) - a * std (- y))) (1 * x + - m))).
  - intros x. cbv beta. rewrite <- (std_even (- (1 * x + - m) - m)). f_equal. f_equal; [f_equal; ring|].
    rewrite std_even. do 2 f_equal; ring.
  - apply (line_affine (fun y => pos (std (- y - m) - a * std (- y))) 1 (- m)); [lra|].
    apply (line_mirror (fun y => pos (std (y - m) - a * std y))). now apply stick_int. Qed.
Theorem curve_int o a : 0 <= a -> is_line (fun x => pos (pair_P o q m x - a * pair_Q o q m x)) (curve o q m a).
Proof. intros Ha. destruct o as [[]|]; [| |now apply replaced_int]; simpl.
  - apply (remove_int line (shifted m) std); auto. intros; now apply stick_int.
  - apply (add_int line (shifted m) std); auto using std_ge0; [intros; apply std_ge0|]. intros; apply stick_swapped. Qed.
Lemma curve_is_curve o : is_curve (curve o q m).
Proof. apply (pair_is_curve line (pair_P o q m) (pair_Q o q m)); [intros; apply pair_ge0|intros; apply pair_ge0|apply pair_P_int|intros; now apply curve_int]. Qed.

(* ---------- one test ---------- *)
Definition rho (t : R) := exp (m * t - m * m / 2).
Lemma rho_mono x y : x <= y -> rho x <= rho y.
Proof. intros. apply exp_le. nra. Qed.
Theorem remove_test a t : 0 <= a ->
  curve Remove q m a <= q * upper (t - m) - (a - 1 + q) * upper t + Rabs (1 - q + q * rho t - a).
Proof. intros Ha. set (d := Rabs _).
  apply Rle_trans with (((1 - q - a) * upper (t - 0) + q * upper (t - m)) + d * 1); [|rewrite Rminus_0_r; lra].
  refine (line_le _ _ _ _ _ (curve_int Remove a Ha) (line_plus _ _ _ _ (line_plus _ _ _ _
    (line_scal (1 - q - a) _ _ (upper_line t 0)) (line_scal q _ _ (upper_line t m))) (line_scal d _ _ (std_line 0)))).
  intros x. simpl. unfold mix, shifted. rewrite Rminus_0_r, std_ratio. fold (rho x). assert (D := std_ge0 x).
  assert (D0 := Rabs_pos (1 - q + q * rho t - a)). fold d in D0.
  assert (D1 := Rle_abs (1 - q + q * rho t - a)). assert (D2 := Rle_abs (- (1 - q + q * rho t - a))). rewrite Rabs_Ropp in D2. fold d in D1, D2.
  replace ((1 - q) * std x + q * (rho x * std x) - a * std x) with ((1 - q + q * rho x - a) * std x) by ring.
  unfold beyond. destruct (Rlt_dec t x) as [G|G].
  - assert (R := rho_mono t x ltac:(lra)). assert (q * rho t <= q * rho x) by (apply Rmult_le_compat_l; lra).
    apply Rmax_lub; nra.
  - assert (R := rho_mono x t ltac:(lra)). assert (q * rho x <= q * rho t) by (apply Rmult_le_compat_l; lra).
    apply Rmax_lub; nra. Qed.
Theorem remove_flat a : 0 <= a <= 1 - q -> curve Remove q m a <= 1 - a.
Proof. intros Ha. simpl. unfold remove_curve, stick. destruct (Rlt_dec 0 ((a - 1 + q) / q)) as [G|G].
  - exfalso. assert ((a - 1 + q) / q * q = a - 1 + q) by (field; lra). nra.
  - right. field; lra. Qed.
Lemma lower_line t c : is_line (fun x => (1 - beyond t x) * std (x - c)) (upper (c - t)).
Proof. replace (upper (c - t)) with (1 + -1 * upper (t - c)).
  - apply (line_ext (fun x => std (x - c) + -1 * (beyond t x * std (x - c)))); [intros; ring|].
    apply line_plus; [apply std_line|]. apply line_scal, upper_line.
  - unfold upper. replace (c - t) with (- (t - c)) by ring. rewrite area_odd. assert (H := half_pos). field; lra. Qed.
Theorem add_test a t : 0 <= a ->
  curve Add q m a <= (1 - a * (1 - q)) * upper (- t) - a * q * upper (m - t) + Rabs (1 - a * (1 - q + q * rho t)).
Proof. intros Ha. set (d := Rabs _).
  apply Rle_trans with (((1 - a * (1 - q)) * upper (0 - t) + - (a * q) * upper (m - t)) + d * 1); [|rewrite Rminus_0_l; lra].
  refine (line_le _ _ _ _ _ (curve_int Add a Ha) (line_plus _ _ _ _ (line_plus _ _ _ _
    (line_scal (1 - a * (1 - q)) _ _ (lower_line t 0)) (line_scal (- (a * q)) _ _ (lower_line t m))) (line_scal d _ _ (std_line 0)))).
  intros x. simpl. unfold mix, shifted. rewrite Rminus_0_r, std_ratio. fold (rho x). assert (D := std_ge0 x).
  set (z := 1 - a * (1 - q + q * rho t)) in *.
  assert (D0 := Rabs_pos z). assert (D1 := Rle_abs z). assert (D2 := Rle_abs (- z)). rewrite Rabs_Ropp in D2. fold d in D0, D1, D2.
  replace (std x - a * ((1 - q) * std x + q * (rho x * std x))) with ((1 - a * (1 - q + q * rho x)) * std x) by ring.
  unfold beyond. destruct (Rlt_dec t x) as [G|G].
  - assert (R := rho_mono t x ltac:(lra)). assert (a * (q * rho t) <= a * (q * rho x)) by (repeat apply Rmult_le_compat_l; lra).
    unfold z in *. apply Rmax_lub; nra.
  - assert (R := rho_mono x t ltac:(lra)). assert (a * (q * rho x) <= a * (q * rho t)) by (repeat apply Rmult_le_compat_l; lra).
    unfold z in *. apply Rmax_lub; nra. Qed.
(* the ratio P / Q of a record replaced grows, too *)
Definition balance (a t : R) := (1 - q) * (1 - a) + q * rho t - a * q * exp (- (m * t) - m * m / 2).
Lemma std_mirrored x : std (x - - m) = exp (- (m * x) - m * m / 2) * std x.
Proof. rewrite std_ratio. do 2 f_equal. field. Qed.
Lemma replaced_at a x : pair_P Replaced q m x - a * pair_Q Replaced q m x = balance a x * std x.
Proof. cbn [pair_P pair_Q]. unfold mix, shifted, balance, rho. rewrite std_ratio, std_mirrored. ring. Qed.
Lemma balance_mono a x y : 0 <= a -> x <= y -> balance a x <= balance a y.
Proof. intros Ha H. unfold balance. assert (A := rho_mono x y H). assert (q * rho x <= q * rho y) by (apply Rmult_le_compat_l; lra).
  assert (B : exp (- (m * y) - m * m / 2) <= exp (- (m * x) - m * m / 2)) by (apply exp_le; nra).
  assert (a * q * exp (- (m * y) - m * m / 2) <= a * q * exp (- (m * x) - m * m / 2)) by (apply Rmult_le_compat_l; auto; apply Rmult_le_pos; lra). lra. Qed.
Definition replaced_gain (t a : R) := q * upper (t - m) + (1 - q) * (1 - a) * upper t - a * q * upper (t + m).
Lemma replaced_gain_int t a : is_line (fun x => beyond t x * (pair_P Replaced q m x - a * pair_Q Replaced q m x)) (replaced_gain t a).
Proof. unfold replaced_gain. replace (q * upper (t - m) + (1 - q) * (1 - a) * upper t - a * q * upper (t + m))
    with (q * upper (t - m) + (1 - q) * (1 - a) * upper (t - 0) + - (a * q) * upper (t - - m)) by (rewrite Rminus_0_r; replace (t - - m) with (t + m) by ring; ring).
  apply (line_ext (fun x => q * (beyond t x * std (x - m)) + (1 - q) * (1 - a) * (beyond t x * std (x - 0)) + - (a * q) * (beyond t x * std (x - - m)))).
  - intros x. cbn [pair_P pair_Q]. unfold mix, shifted. rewrite Rminus_0_r. ring.
  - apply line_plus; [apply line_plus|]; apply line_scal, upper_line. Qed.
Theorem replaced_test a t : 0 <= a -> curve Replaced q m a <= replaced_gain t a + Rabs (balance a t).
Proof. intros Ha. set (d := Rabs _). replace (replaced_gain t a + d) with (replaced_gain t a + d * 1) by ring.
  refine (line_le _ _ _ _ _ (curve_int Replaced a Ha) (line_plus _ _ _ _ (replaced_gain_int t a) (line_scal d _ _ std_int))).
  intros x. cbv beta. rewrite replaced_at. assert (D := std_ge0 x). assert (D0 := Rabs_pos (balance a t)).
  assert (D1 := Rle_abs (balance a t)). assert (D2 := Rle_abs (- balance a t)). rewrite Rabs_Ropp in D2. fold d in D0, D1, D2.
  unfold beyond. destruct (Rlt_dec t x) as [G|G].
  - assert (R := balance_mono a t x Ha ltac:(lra)). apply Rmax_lub; nra.
  - assert (R := balance_mono a x t Ha ltac:(lra)). apply Rmax_lub; nra. Qed.
Theorem add_flat a : 1 <= a * (1 - q) -> curve Add q m a <= 0.
Proof. intros H. simpl. unfold add_curve. destruct (Rlt_dec _ _); lra. Qed.
End Pair.

(* ---------- the program ---------- *)
Open Scope Z_scope.
(* A sampled Gaussian step, in fractions, and hints: W bits, members of the series, where the line ends, the tests t
   in units of 2^-W. *)
Record gaussian_step := {
  in_order : order; q_num : Z; q_den : Z; sigma_num : Z; sigma_den : Z;
  precision : Z; terms : Z; far : Z; tests : list Z }.

Section Covers.
Variables (p : gaussian_step) (o : way).
Let W := precision p.
Let U := unit W.
(* half: e^(-x^2/2) integrated from 0 on *)
Definition half_range : range :=
  let E := half_square W (terms p) (far p) 1 in let A := area_range W (terms p) (far p) 1 E in
  (fst A, snd A + ceiling (U * U) (fst E)).
(* half minus the area up to x / y *)
Definition tail_range (H : range) (x y : Z) (E : range) : range :=
  if 0 <=? x then let A := area_range W (terms p) x y E in (fst H - snd A, snd H - fst A)
  else let A := area_range W (terms p) (- x) y E in (fst H + fst A, snd H + snd A).
(* whether the curve at a / 2^W is at most d / 2^W, by the test t / 2^W *)
Definition dot_above (H : range) (a t d : Z) : bool :=
  let x := t * sigma_num p - sigma_den p * U in let y := U * sigma_num p in
  let E0 := half_square W (terms p) t U in let E1 := half_square W (terms p) x y in
  let low := fst E0 * U / snd E1 in let high := ceiling (snd E0 * U) (fst E1) in
  let rest := q_den p - q_num p in
  (0 <=? d) &&
  match o with
  | Remove =>
      let n := a * q_den p - rest * U in
      if n <=? 0 then U - a <=? d
      else U * q_num p * snd (tail_range H x y E1) - n * fst (tail_range H t U E0)
           + 2 * snd H * Z.max (q_num p * high - n) (n - q_num p * low) <=? q_den p * (2 * fst H) * d
  | Add =>
      let n := U * q_den p - a * rest in let m := a * q_num p in
      (n <=? 0) || (U * (n * snd (tail_range H (- t) U E0) - m * fst (tail_range H (- x) y E1))
           + 2 * snd H * Z.max (m * high - U * n) (U * n - m * low) <=? U * (q_den p * (2 * fst H) * d))
  | Replaced =>
      let x' := t * sigma_num p + sigma_den p * U in let E2 := half_square W (terms p) x' y in
      let low' := fst E0 * U / snd E2 in let high' := ceiling (snd E0 * U) (fst E2) in
      let n := rest * (U - a) in let m := a * q_num p in let k := U * q_num p in let T := tail_range H t U E0 in
      U * (k * snd (tail_range H x y E1) + Z.max (n * fst T) (n * snd T) - m * fst (tail_range H x' y E2))
        + 2 * snd H * Z.max (U * n + k * high - m * low') (m * high' - k * low - U * n) <=? U * (q_den p * (2 * fst H) * d)
  end.
Definition sound_step : bool := (0 <=? W) && (0 <? q_num p) && (q_num p <=? q_den p) && (0 <? sigma_num p) && (0 <? sigma_den p)
  && (0 <=? terms p) && (1 <=? far p).
End Covers.

(* ---------- the whole grid, for any curve ---------- *)
(* dot i a t d: whether the curve at e^(h i), which is at least a / 2^W, is at most d / 2^W, with the hint t *)
Section Grid.
Variables (dot : Z -> Z -> Z -> Z -> bool) (W n : Z).
(* F: the sum of the masses from here on; G: above the sum of mass e^(-h (index - here)); a: below e^(h here) *)
Fixpoint scan (r : range) (up j top i : Z) (l ts : list Z) : option (Z * Z * Z) :=
  match l, ts with
  | [], [] => Some (0, 0, top)
  | m :: l, t :: ts =>
      match scan r up j top (i + 1) l ts with
      | Some (F, G, a) =>
          let F := F + m in let G := m * up - Z.shiftr (- (G * snd r)) W in let a := Z.shiftr (a * fst r) W in
          if dot i a t ((j + F) * up - G) then Some (F, G, a) else None
      | None => None
      end
  | _, _ => None
  end.
Definition covers_grid (ts : list Z) (h_num h_den B : Z) (v : ilaw) : bool :=
  let U := unit W in let E := expo W n (quotient_range W h_num h_den) in
  let i := low v + Z.of_nat (length (mass v)) in
  let far_off := expo W n (quotient_range W (h_num * Z.abs i) h_den) in
  let top := if 0 <=? i then fst far_off else U * U / snd far_off in
  (0 <? B) && (B <=? W) && (0 <? h_num) && (0 <? h_den) && (0 <=? n)
  && forallb (Z.leb 0) (mass v) && negb (Nat.eqb (length (mass v)) 0) && (0 <=? inf v) && (unit B <=? inf v + fin v)
  && match scan (U * U / snd E, ceiling (U * U) (fst E)) (unit (W - B)) (inf v) top (low v) (mass v) ts with
     | Some _ => true | None => false end.
End Grid.
Definition covers_way (o : way) (p : gaussian_step) (h_num h_den B : Z) (v : ilaw) : bool :=
  sound_step p && let H := half_range p in covers_grid (fun _ => dot_above p o H) (precision p) (terms p) (tests p) h_num h_den B v.
Definition covers (p : gaussian_step) : Z -> Z -> Z -> ilaw -> bool := covers_way (in_order p) p.

(* ---------- what it decides ---------- *)
Open Scope R_scope.
Definition q_of (p : gaussian_step) : R := IZR (q_num p) / IZR (q_den p).
Definition sigma_of (p : gaussian_step) : R := IZR (sigma_num p) / IZR (sigma_den p).

Section Units.
Variable W : Z.
Hypothesis HW : (0 <= W)%Z.
Let U := unit W.
Let s := IZR U.
Lemma unit_pos : (0 < U)%Z.
Proof. unfold U. rewrite unit_ok. now apply s_pos. Qed.
Lemma unit_gt0 : 0 < s.
Proof. apply IZR_lt, unit_pos. Qed.
Lemma unit_pow : IZR (2 ^ W) = s.
Proof. unfold s, U. now rewrite unit_ok. Qed.
Lemma holds_inverse X v : holds W X v -> (0 < fst X)%Z -> 0 < v ->
  IZR (U * U / snd X) <= s * / v /\ s * / v <= IZR (ceiling (U * U) (fst X)).
Proof. intros [_ [X1 X2]] F V. rewrite unit_pow in *. assert (SR := unit_gt0). apply IZR_lt in F.
  assert (F2 : 0 < IZR (snd X)) by lra. assert (IV := Rinv_0_lt_compat _ V). split.
  - eapply Rle_trans; [apply div_le; now apply lt_IZR|]. rewrite mult_IZR. fold s. apply Rmult_le_reg_r with (IZR (snd X)); auto.
    unfold Rdiv; rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. replace (s * s) with (s * / v * (s * v)) by (field; lra).
    apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|auto].
  - eapply Rle_trans; [|apply ceiling_ge; now apply lt_IZR]. rewrite mult_IZR. fold s. apply Rmult_le_reg_r with (IZR (fst X)); auto.
    unfold Rdiv; rewrite (Rmult_assoc (s * s)), Rinv_l, Rmult_1_r by lra. replace (s * s) with (s * / v * (s * v)) by (field; lra).
    apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|auto]. Qed.
Section Scan.
Variables (dot : Z -> Z -> Z -> Z -> bool) (C : R -> R) (r : range) (h : R) (B j top : Z).
Hypothesis HD : forall i a t d, (0 <= a)%Z -> IZR a <= s * exp (h * IZR i) -> dot i a t d = true -> C (exp (h * IZR i)) <= IZR d / s.
Hypothesis HB : (0 < B <= W)%Z.
Hypothesis Hj : (0 <= j)%Z.
Hypothesis Hr : (0 <= fst r)%Z /\ IZR (fst r) <= s * exp (- h) <= IZR (snd r).
Hypothesis Htop : (0 <= top)%Z.
Let u := IZR (unit B).
Let up := unit (W - B).
Lemma u_gt0 : 0 < u.
Proof. apply IZR_lt. rewrite unit_ok by lia. apply s_pos; lia. Qed.
Lemma up_ok : IZR up * u = s.
Proof. unfold up, u, s, U. rewrite <- mult_IZR. f_equal. rewrite !unit_ok by lia. rewrite <- Z.pow_add_r by lia. f_equal; lia. Qed.
Hypothesis Hh : 0 < h.
Lemma scan_ok l : nnv l -> forall ts i F G a, IZR top <= s * exp (h * IZR (i + Z.of_nat (length l))) ->
  scan dot W r up j top i l ts = Some (F, G, a) ->
  F = sumv l /\ s * E (fun z => exp (h * IZR i - z)) (atoms h u i l) <= IZR G /\ (0 <= G)%Z
  /\ (0 <= a)%Z /\ IZR a <= s * exp (h * IZR i) /\ dots_above C h u j i l.
Proof. intros V. assert (SR := unit_gt0). assert (UR := u_gt0). assert (UPE := up_ok). assert (UP := unit_pos).
  induction V as [|k l Hk V IH]; intros ts i F G a Ht T; destruct ts as [|t ts]; cbn [scan] in T; try discriminate.
  - injection T as <- <- <-. cbn [sumv atoms E dots_above length Z.of_nat] in *. rewrite Z.add_0_r in Ht.
    repeat split; auto; try lia; try lra.
  - destruct (scan dot W r up j top (i + 1) l ts) as [[[F0 G0] a0]|] eqn:T0; [|discriminate]. cbv zeta in T.
    assert (Ht' : IZR top <= s * exp (h * IZR (i + 1 + Z.of_nat (length l)))).
    { replace (i + 1 + Z.of_nat (length l))%Z with (i + Z.of_nat (length (k :: l)))%Z by (cbn [length]; lia). exact Ht. }
    destruct (IH ts (i + 1)%Z F0 G0 a0 Ht' T0) as [EF [EG [PG [PA [EA D]]]]].
    set (F1 := (F0 + k)%Z) in *. set (G1 := (k * up - Z.shiftr (- (G0 * snd r)) W)%Z) in *. set (a1 := Z.shiftr (a0 * fst r) W) in *.
    destruct (dot i a1 t ((j + F1) * up - G1)%Z) eqn:DA; [|discriminate]. injection T as <- <- <-.
    destruct Hr as [R0 [R1 R2]]. assert (XP := exp_pos (- h)). assert (RP : 0 <= IZR (snd r)) by nra.
    assert (SH : h * IZR (i + 1) = h * IZR i + h) by (rewrite plus_IZR; ring).
    assert (PA1 : (0 <= a1)%Z) by (apply Z.shiftr_nonneg; nia).
    assert (EA1 : IZR a1 <= s * exp (h * IZR i)).
    { unfold a1. eapply Rle_trans; [apply shiftr_le; auto|]. rewrite unit_pow, mult_IZR. apply Rmult_le_reg_r with s; auto.
      unfold Rdiv; rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
      replace (h * IZR i) with (h * IZR (i + 1) + - h) by lra. rewrite exp_plus.
      replace (s * (exp (h * IZR (i + 1)) * exp (- h)) * s) with (s * exp (h * IZR (i + 1)) * (s * exp (- h))) by ring.
      apply Rmult_le_compat; auto; now apply IZR_le. }
    assert (GE : IZR G0 * exp (- h) <= IZR (- Z.shiftr (- (G0 * snd r)) W)).
    { eapply Rle_trans; [|apply shiftr_ge; auto]. rewrite unit_pow, mult_IZR. apply Rmult_le_reg_r with s; auto.
      unfold Rdiv; rewrite (Rmult_assoc (_ * _)), Rinv_l, Rmult_1_r by lra. apply IZR_le in PG.
      rewrite Rmult_assoc, (Rmult_comm (exp (- h))). now apply Rmult_le_compat_l. }
    assert (EG1 : s * E (fun z => exp (h * IZR i - z)) (atoms h u i (k :: l)) <= IZR G1).
    { cbn [atoms E fst snd]. rewrite (E_ext (fun z => exp (h * IZR i - z)) (fun z => exp (- h) * exp (h * IZR (i + 1) - z)))
        by (intros; rewrite <- exp_plus; f_equal; lra).
      rewrite E_scal. unfold Rminus at 1. rewrite Rplus_opp_r, exp_0.
      assert (GQ : IZR G1 = IZR k * IZR up + IZR (- Z.shiftr (- (G0 * snd r)) W)) by (unfold G1, Z.sub; now rewrite plus_IZR, mult_IZR).
      rewrite GQ.
      replace (s * (IZR k / u * 1 + exp (- h) * E (fun z => exp (h * IZR (i + 1) - z)) (atoms h u (i + 1) l)))
        with (IZR k * IZR up + s * E (fun z => exp (h * IZR (i + 1) - z)) (atoms h u (i + 1) l) * exp (- h)) by (rewrite <- UPE; field; lra).
      apply Rplus_le_compat_l. eapply Rle_trans; [|exact GE]. apply Rmult_le_compat_r; lra. }
    assert (PG1 : (0 <= G1)%Z).
    { assert (PG1 : 0 <= IZR (- Z.shiftr (- (G0 * snd r)) W)) by (eapply Rle_trans; [|exact GE]; apply Rmult_le_pos; [now apply IZR_le|lra]).
      apply le_IZR in PG1. assert (0 <= up)%Z by (unfold up; rewrite unit_ok by lia; apply Z.pow_nonneg; lia). unfold G1. nia. }
    assert (SF : F1 = sumv (k :: l)) by (unfold F1; cbn [sumv]; lia).
    repeat split; auto.
    eapply Rle_trans; [exact (HD i a1 t _ PA1 EA1 DA)|]. unfold stick_of. rewrite discounted by (auto; lra). rewrite E_one_atoms by auto.
    rewrite <- SF, <- E_scal. rewrite (E_ext (fun z => exp (h * IZR i) * exp (- z)) (fun z => exp (h * IZR i - z)))
      by (intros; rewrite <- exp_plus; reflexivity).
    rewrite minus_IZR, mult_IZR, plus_IZR. set (S1 := E _ (atoms h u i (k :: l))) in *.
    apply Rmult_le_reg_l with s; auto. replace (s * (((IZR j + IZR F1) * IZR up - IZR G1) / s)) with ((IZR j + IZR F1) * IZR up - IZR G1) by (field; lra).
    replace (s * (IZR j / u + (IZR F1 / u - S1))) with ((IZR j + IZR F1) * IZR up - s * S1) by (rewrite <- UPE; field; lra). lra. Qed.
End Scan.
Theorem covers_grid_ok dot C n ts h_num h_den B v : is_curve C ->
  (forall i a t d, (0 <= a)%Z -> IZR a <= s * exp (IZR h_num / IZR h_den * IZR i) -> dot i a t d = true ->
    C (exp (IZR h_num / IZR h_den * IZR i)) <= IZR d / s) ->
  covers_grid dot W n ts h_num h_den B v = true ->
  let L := law_of (IZR h_num / IZR h_den) (IZR (2 ^ B)) v in
  nonneg L /\ 1 <= tot L /\ forall e, C (exp e) <= delta e L.
Proof. intros HC HD. unfold covers_grid. cbv zeta. intros T. apply andb_prop in T as [T SC]. repeat (apply andb_prop in T as [T ?]).
  repeat match goal with X : (_ <? _)%Z = true |- _ => apply Z.ltb_lt in X | X : (_ <=? _)%Z = true |- _ => apply Z.leb_le in X end.
  destruct (scan _ _ _ _ _ _ _ _ _) as [[[F G] a]|] eqn:S; [|discriminate]. set (h := IZR h_num / IZR h_den) in *.
  assert (HN := IZR_lt 0 h_num ltac:(lia)). assert (HDn := IZR_lt 0 h_den ltac:(lia)).
  assert (Hh : 0 < h) by now apply Rdiv_lt_0_compat.
  assert (NV : nnv (mass v)).
  { match goal with X : forallb _ _ = true |- _ => rewrite forallb_forall in X end. apply Forall_forall; intros x Hx. apply Z.leb_le; auto. }
  assert (NE : mass v <> []).
  { intros N. match goal with X : negb _ = true |- _ => rewrite N in X; discriminate X end. }
  set (E1 := expo W n (quotient_range W h_num h_den)) in *.
  set (i := (low v + Z.of_nat (length (mass v)))%Z) in *. set (E2 := expo W n (quotient_range W (h_num * Z.abs i) h_den)) in *.
  assert (UE := unit_pow). assert (UP := unit_pos). assert (UR := unit_gt0). fold U in S.
  destruct (expo_ok W HW n (quotient_range W h_num h_den) h ltac:(auto) (quotient_range_ok W HW h_num h_den ltac:(lia) ltac:(auto))) as [A1 A2].
  fold E1 in A1, A2. rewrite <- unit_ok in A2 by auto. fold U in A2.
  destruct (holds_inverse E1 (exp h) A1 ltac:(lia) (exp_pos _)) as [B1 B2]. rewrite <- exp_Ropp in B1, B2.
  assert (HE2 : holds W E2 (exp (h * IZR (Z.abs i))) /\ (2 ^ W <= fst E2)%Z).
  { apply expo_ok; auto. replace (h * IZR (Z.abs i)) with (IZR (h_num * Z.abs i) / IZR h_den) by (unfold h; rewrite mult_IZR; field; lra).
    apply quotient_range_ok; auto. nia. }
  destruct HE2 as [C1 C2]. rewrite <- unit_ok in C2 by auto. fold U in C2.
  set (top := if (0 <=? i)%Z then fst E2 else (U * U / snd E2)%Z) in *.
  assert (TP : (0 <= top)%Z /\ IZR top <= s * exp (h * IZR i)).
  { unfold top. destruct (Z.leb_spec 0 i) as [G0|G0].
    - rewrite Z.abs_eq in C1 by auto. destruct C1 as [D0 [D1 D2]]. rewrite UE in D1. auto.
    - rewrite Z.abs_neq, opp_IZR in C1 by lia. destruct (holds_inverse E2 _ C1 ltac:(lia) (exp_pos _)) as [D1 _].
      rewrite <- exp_Ropp in D1. replace (- (h * - IZR i)) with (h * IZR i) in D1 by ring. split; auto.
      apply Z.div_pos; [nia|]. destruct C1 as [_ [D2 D3]]. apply lt_IZR. assert (0 < IZR (fst E2)) by (apply IZR_lt; lia). lra. }
  destruct TP as [T1 T2]. assert (HB : (0 < B <= W)%Z) by (split; auto).
  assert (R0 : (0 <= U * U / snd E1)%Z).
  { apply Z.div_pos; [nia|]. destruct A1 as [_ [D2 D3]]. apply lt_IZR. assert (0 < IZR (fst E1)) by (apply IZR_lt; lia). lra. }
  assert (K := scan_ok dot C (U * U / snd E1, ceiling (U * U) (fst E1))%Z h B (inf v) top HD HB
    (conj R0 (conj B1 B2)) T1 Hh (mass v) NV ts (low v) F G a T2 S).
  destruct K as [_ [_ [_ [_ [_ D]]]]]. assert (UB : unit B = (2 ^ B)%Z) by (apply unit_ok). rewrite UB in D.
  assert (BP : 0 < IZR (2 ^ B)) by (apply IZR_lt, Z.pow_pos_nonneg; lia).
  assert (TT : 1 <= IZR (inf v) / IZR (2 ^ B) + E one (atoms h (IZR (2 ^ B)) (low v) (mass v))).
  { rewrite E_one_atoms. match goal with X : (unit B <= _)%Z |- _ => rewrite UB in X; apply IZR_le in X; rewrite plus_IZR in X; unfold fin in X end.
    apply Rmult_le_reg_r with (IZR (2 ^ B)); auto. rewrite Rmult_plus_distr_r. unfold Rdiv. rewrite !Rmult_assoc, Rinv_l by lra. lra. }
  split; [apply good_nonneg; [lia|split; [auto|split; auto]]|]. split; [exact TT|].
  intros e. apply grid_above; auto. Qed.
End Units.


Section Right.
Variable p : gaussian_step.
Let W := precision p.
Let U := unit W.
Let s := IZR U.
Let q := q_of p.
Let m := / sigma_of p.
Hypothesis sound : sound_step p = true.
Lemma sound_step_ok : ((0 <= W)%Z /\ (0 < q_num p)%Z /\ (q_num p <= q_den p)%Z
  /\ (0 < sigma_num p)%Z /\ (0 < sigma_den p)%Z /\ (0 <= terms p)%Z /\ (1 <= far p)%Z) /\ 0 < q <= 1 /\ 0 < sigma_of p.
Proof. unfold sound_step in sound. revert sound. intros T. repeat (apply andb_prop in T as [T ?]).
  repeat match goal with X : (_ <? _)%Z = true |- _ => apply Z.ltb_lt in X | X : (_ <=? _)%Z = true |- _ => apply Z.leb_le in X end.
  assert (A := IZR_lt 0 (q_num p) ltac:(auto)). assert (B := IZR_le (q_num p) (q_den p) ltac:(auto)).
  split; [repeat split; auto|]. split; [|apply Rdiv_lt_0_compat; now apply IZR_lt]. unfold q, q_of. split; [apply Rdiv_lt_0_compat; lra|].
  apply Rmult_le_reg_r with (IZR (q_den p)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. Qed.
Let HW : (0 <= W)%Z := proj1 (proj1 sound_step_ok).
Let Hqn : (0 < q_num p)%Z := proj1 (proj2 (proj1 sound_step_ok)).
Let Hqd : (q_num p <= q_den p)%Z := proj1 (proj2 (proj2 (proj1 sound_step_ok))).
Let Hsn : (0 < sigma_num p)%Z := proj1 (proj2 (proj2 (proj2 (proj1 sound_step_ok)))).
Let Hsd : (0 < sigma_den p)%Z := proj1 (proj2 (proj2 (proj2 (proj2 (proj1 sound_step_ok))))).
Let Hterms : (0 <= terms p)%Z := proj1 (proj2 (proj2 (proj2 (proj2 (proj2 (proj1 sound_step_ok)))))).
Let Hfar : (1 <= far p)%Z := proj2 (proj2 (proj2 (proj2 (proj2 (proj2 (proj1 sound_step_ok)))))).
Let q_range : 0 < q <= 1 := proj1 (proj2 sound_step_ok).
Let sigma_gt0 : 0 < sigma_of p := proj2 (proj2 sound_step_ok).
Let U_pos : (0 < U)%Z := unit_pos W HW.
Let s_gt0 : 0 < s := unit_gt0 W HW.
Let unit_s : IZR (2 ^ W) = s := unit_pow W.
Lemma m_gt0 : 0 < m.
Proof. apply Rinv_0_lt_compat, sigma_gt0. Qed.

(* an interval that may be below 0 *)
Definition within (X : range) (x : R) := IZR (fst X) <= s * x <= IZR (snd X).
Lemma half_ok : within (half_range p) half.
Proof. unfold half_range. cbv zeta. fold W U. assert (HA := area_ok W HW (terms p) (far p) 1 Hterms ltac:(lia) ltac:(lia)).
  destruct (half_square_ok W HW (terms p) (far p) 1 Hterms ltac:(lia)) as [HE HE2]. set (E := half_square W (terms p) (far p) 1) in *.
  destruct HA as [_ [A1 A2]]. destruct HE as [_ [E1 E2]]. rewrite unit_s in *.
  replace (IZR (far p) / 1) with (IZR (far p)) in * by field. set (t := IZR (far p)) in *.
  assert (T1 : 1 <= t) by (apply IZR_le; lia). assert (B1 := area_half t). assert (B2 := half_area t T1).
  assert (SR := s_gt0). assert (UP := U_pos). assert (ES : (0 < fst E)%Z) by (fold W in HE2; rewrite <- unit_ok in HE2 by auto; fold U in HE2; lia).
  unfold within; cbn [fst snd]. rewrite plus_IZR. split; [nra|].
  assert (K : s * g t <= IZR (ceiling (U * U) (fst E))).
  { eapply Rle_trans; [|apply ceiling_ge; auto]. rewrite mult_IZR. fold s. apply IZR_lt in ES.
    apply Rmult_le_reg_r with (IZR (fst E)); auto. unfold Rdiv; rewrite (Rmult_assoc (s * s)), Rinv_l, Rmult_1_r by lra.
    assert (G0 := g_pos t). assert (N : g t * exp (t * t / 2) = 1).
    { unfold g. rewrite <- exp_plus. replace (- t ^ 2 / 2 + t * t / 2) with 0 by field. apply exp_0. }
    apply Rle_trans with (s * g t * (s * exp (t * t / 2))).
    - apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|exact E1].
    - replace (s * g t * (s * exp (t * t / 2))) with (s * s * (g t * exp (t * t / 2))) by ring. rewrite N; lra. }
  assert (s * half <= s * (area t + g t)) by (apply Rmult_le_compat_l; lra). lra. Qed.
Definition tail_area (t : R) := half - area t.
Lemma tail_ok H x y : within H half -> (0 < y)%Z -> 
  within (tail_range p H x y (half_square W (terms p) x y)) (tail_area (IZR x / IZR y)).
Proof. intros [H1 H2] Hy. unfold tail_range, tail_area. fold W. assert (SR := s_gt0).
  destruct (Z.leb_spec 0 x) as [G|G]; cbv zeta.
  - destruct (area_ok W HW (terms p) x y Hterms G Hy) as [_ [A1 A2]]. rewrite unit_s in *.
    unfold within; cbn [fst snd]; rewrite !minus_IZR. split; nra.
  - destruct (area_ok W HW (terms p) (- x) y Hterms ltac:(lia) Hy) as [_ [A1 A2]]. rewrite unit_s in *.
    replace (half_square W (terms p) (- x) y) with (half_square W (terms p) x y) in * by (unfold half_square; do 2 f_equal; lia).
    replace (IZR (- x) / IZR y) with (- (IZR x / IZR y)) in * by (rewrite opp_IZR; unfold Rdiv; ring).
    rewrite area_odd in *. unfold within; cbn [fst snd]; rewrite !plus_IZR. split; nra. Qed.
Lemma tail_upper t : tail_area t = 2 * half * upper t.
Proof. unfold tail_area, upper. assert (H := half_pos). field; lra. Qed.

(* the bound of one test, multiplied out *)
Section Dot.
Variables (H : range) (a t d : Z).
Hypothesis HH : within H half.
Let al := IZR a / s.
Let tt := IZR t / s.
Hypothesis Ha : (0 <= a)%Z.
Let x := (t * sigma_num p - sigma_den p * U)%Z.
Let y := (U * sigma_num p)%Z.
Let low := (fst (half_square W (terms p) t U) * U / snd (half_square W (terms p) x y))%Z.
Let high := ceiling (snd (half_square W (terms p) t U) * U) (fst (half_square W (terms p) x y)).
Lemma y_pos : (0 < y)%Z.
Proof. assert (K := U_pos). unfold y; nia. Qed.
Lemma moved : IZR x / IZR y = tt - m.
Proof. assert (K := s_gt0). assert (A := IZR_lt _ _ Hsn). assert (B := IZR_lt _ _ Hsd).
  unfold x, y, tt, m, sigma_of. rewrite minus_IZR, !mult_IZR. fold s. field; lra. Qed.
Lemma ratio_at v z : IZR z / IZR y = tt - v ->
  IZR (fst (half_square W (terms p) t U) * U / snd (half_square W (terms p) z y)) <= s * rho v tt
  <= IZR (ceiling (snd (half_square W (terms p) t U) * U) (fst (half_square W (terms p) z y))).
Proof. intros moved. assert (K := s_gt0). assert (Y := y_pos). assert (UP := U_pos).
  destruct (half_square_ok W HW (terms p) t U Hterms UP) as [[A0 [A1 A2]] A3].
  destruct (half_square_ok W HW (terms p) z y Hterms Y) as [[B0 [B1 B2]] B3]. rewrite moved in *. rewrite unit_s in *. fold s tt in A1, A2.
  set (E0 := half_square W (terms p) t U) in *. set (E1 := half_square W (terms p) z y) in *.
  rewrite <- unit_ok in A3, B3 by auto. fold U in A3, B3.
  assert (P0 := exp_pos (tt * tt / 2)). assert (P1 := exp_pos ((tt - v) * (tt - v) / 2)).
  assert (R : rho v tt * exp ((tt - v) * (tt - v) / 2) = exp (tt * tt / 2)).
  { unfold rho. rewrite <- exp_plus. f_equal. field. }
  assert (R0 : 0 < rho v tt) by apply exp_pos.
  assert (F1 : 0 < IZR (fst E1)) by (apply IZR_lt; lia). assert (F2 : 0 < IZR (snd E1)) by lra.
  apply IZR_le in A0. split.
  - eapply Rle_trans; [apply div_le; now apply lt_IZR|]. rewrite mult_IZR. fold s.
    apply Rmult_le_reg_r with (IZR (snd E1)); auto. unfold Rdiv; rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    apply Rle_trans with (s * exp (tt * tt / 2) * s); [apply Rmult_le_compat_r; lra|]. rewrite <- R.
    replace (s * (rho v tt * exp ((tt - v) * (tt - v) / 2)) * s) with (s * rho v tt * (s * exp ((tt - v) * (tt - v) / 2))) by ring.
    apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|lra].
  - eapply Rle_trans; [|apply ceiling_ge; now apply lt_IZR]. rewrite mult_IZR. fold s.
    apply Rmult_le_reg_r with (IZR (fst E1)); auto. unfold Rdiv; rewrite (Rmult_assoc (_ * _)), Rinv_l, Rmult_1_r by lra.
    apply Rle_trans with (s * exp (tt * tt / 2) * s); [|apply Rmult_le_compat_r; lra]. rewrite <- R.
    replace (s * (rho v tt * exp ((tt - v) * (tt - v) / 2)) * s) with (s * rho v tt * (s * exp ((tt - v) * (tt - v) / 2))) by ring.
    apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|lra]. Qed.
Lemma ratio_ok : IZR low <= s * rho m tt <= IZR high.
Proof. exact (ratio_at m x moved). Qed.
Lemma max_abs u v z : u <= IZR v -> - u <= IZR z -> Rabs u <= IZR (Z.max v z).
Proof. intros A B. apply Rabs_le. assert (C := IZR_le _ _ (Z.le_max_l v z)). assert (D := IZR_le _ _ (Z.le_max_r v z)). lra. Qed.
Theorem dot_ok o : dot_above p o H a t d = true -> 0 <= IZR d /\ curve o q m al <= IZR d / s.
Proof. unfold dot_above. cbv zeta. fold W U x y low high. intros T. apply andb_prop in T as [T0 T]. apply Z.leb_le in T0. apply IZR_le in T0.
  split; auto. assert (SR := s_gt0). assert (Y := y_pos). assert (UP := U_pos). assert (Q := q_range). assert (M := m_gt0).
  assert (QD : 0 < IZR (q_den p)) by (apply IZR_lt; lia). assert (QE : q * IZR (q_den p) = IZR (q_num p)) by (unfold q, q_of; field; lra).
  assert (A0 : 0 <= al) by (apply Rmult_le_pos; [now apply IZR_le|left; now apply Rinv_0_lt_compat]).
  assert (AE : s * al = IZR a) by (unfold al; field; lra). assert (HP := half_pos). destruct HH as [H1 H2].
  destruct ratio_ok as [R1 R2]. set (r := rho m tt) in *. apply IZR_le in Ha.
  assert (DP : IZR (fst H) * IZR d <= s * half * IZR d) by (apply Rmult_le_compat_r; lra).
  assert (QP := IZR_lt _ _ Hqn).
  assert (FIN : forall c, s * (IZR (q_den p) * (2 * half) * (s * c)) <= s * (IZR (q_den p) * (2 * half) * IZR d) -> c <= IZR d / s).
  { intros c Hc. apply Rmult_le_reg_l in Hc; auto. apply Rmult_le_reg_l in Hc; [|apply Rmult_lt_0_compat; lra].
    apply Rmult_le_reg_l with s; auto. replace (s * (IZR d / s)) with (IZR d) by (field; lra). exact Hc. }
  assert (QH : IZR (q_den p) * (IZR (fst H) * IZR d) <= IZR (q_den p) * (s * half * IZR d)) by (apply Rmult_le_compat_l; lra).
  destruct o as [[]|].
  - set (n := (a * q_den p - (q_den p - q_num p) * U)%Z) in *.
    assert (NE : IZR n = s * IZR (q_den p) * (al - 1 + q)).
    { unfold n. rewrite minus_IZR, !mult_IZR, minus_IZR. fold s. rewrite <- AE, <- QE. ring. }
    destruct (Z.leb_spec n 0) as [G|G]; apply Z.leb_le in T; apply IZR_le in T.
    + assert (F : al <= 1 - q).
      { apply IZR_le in G. rewrite NE in G. assert (0 < s * IZR (q_den p)) by now apply Rmult_lt_0_compat. nra. }
      eapply Rle_trans; [apply (remove_flat q m Q); lra|]. rewrite minus_IZR in T. fold s in T. apply Rmult_le_reg_l with s; auto.
      replace (s * (IZR d / s)) with (IZR d) by (field; lra). lra.
    + apply FIN. assert (C := remove_test q m Q M al tt A0). fold r in C. apply IZR_lt in G.
      destruct (tail_ok H x y HH Y) as [X1 X2]. destruct (tail_ok H t U HH UP) as [X3 X4]. rewrite moved in *. fold s tt in X3, X4.
      rewrite !tail_upper in *. set (Tx := snd (tail_range p H x y _)) in *. set (Tt := fst (tail_range p H t U _)) in *.
      set (mx := Z.max _ _) in T.
      assert (MX : Rabs (IZR (q_num p) * (s * r) - IZR n) <= IZR mx).
      { apply max_abs; rewrite minus_IZR, mult_IZR;
          [assert (IZR (q_num p) * (s * r) <= IZR (q_num p) * IZR high) by (apply Rmult_le_compat_l; lra)
          |assert (IZR (q_num p) * IZR low <= IZR (q_num p) * (s * r)) by (apply Rmult_le_compat_l; lra)]; lra. }
      assert (AB : s * IZR (q_den p) * Rabs (1 - q + q * r - al) <= IZR mx).
      { eapply Rle_trans; [|exact MX]. rewrite <- (Rabs_pos_eq (s * IZR (q_den p))) at 1 by (apply Rmult_le_pos; lra).
        rewrite <- Rabs_mult. right; f_equal. rewrite NE, <- QE. ring. }
      assert (MP : 0 <= IZR mx) by (eapply Rle_trans; [apply Rabs_pos|exact MX]).
      rewrite plus_IZR, minus_IZR, !mult_IZR in T. fold s in T. rewrite ?mult_IZR in T.
      assert (V1 : s * IZR (q_num p) * (s * (2 * half * upper (tt - m))) <= s * IZR (q_num p) * IZR Tx)
        by (apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|lra]).
      assert (V2 : IZR n * IZR Tt <= IZR n * (s * (2 * half * upper tt))) by (apply Rmult_le_compat_l; lra).
      assert (V3 : 2 * (s * half) * IZR mx <= 2 * IZR (snd H) * IZR mx) by (apply Rmult_le_compat_r; lra).
      assert (V4 : 2 * (s * half) * (s * IZR (q_den p) * Rabs (1 - q + q * r - al)) <= 2 * (s * half) * IZR mx)
        by (apply Rmult_le_compat_l; [apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra]|auto]).
      assert (V5 : s * (IZR (q_den p) * (2 * half) * (s * curve Remove q m al)) <=
        s * IZR (q_num p) * (s * (2 * half * upper (tt - m))) - IZR n * (s * (2 * half * upper tt))
        + 2 * (s * half) * (s * IZR (q_den p) * Rabs (1 - q + q * r - al))).
      { rewrite NE, <- QE. assert (Z0 : 0 <= s * s * IZR (q_den p) * (2 * half)) by (repeat apply Rmult_le_pos; lra).
        apply (Rmult_le_compat_l _ _ _ Z0) in C. lra. }
      lra.
  - set (n := (U * q_den p - a * (q_den p - q_num p))%Z) in *. set (k := (a * q_num p)%Z) in *.
    assert (NE : IZR n = s * IZR (q_den p) * (1 - al * (1 - q))).
    { unfold n. rewrite minus_IZR, !mult_IZR, minus_IZR. fold s. rewrite <- AE, <- QE. ring. }
    assert (KE : IZR k = s * IZR (q_den p) * (al * q)) by (unfold k; rewrite mult_IZR, <- AE, <- QE; ring).
    apply orb_prop in T as [T|T]; apply Z.leb_le in T; apply IZR_le in T.
    + eapply Rle_trans; [apply (add_flat q m)|apply Rmult_le_pos; [auto|left; now apply Rinv_0_lt_compat]].
      rewrite NE in T. assert (0 < s * IZR (q_den p)) by now apply Rmult_lt_0_compat. nra.
    + apply FIN. apply Rmult_le_reg_l with s; auto. assert (C := add_test q m Q M al tt A0). fold r in C.
      assert (MIR : forall u v, half_square W (terms p) (- u) v = half_square W (terms p) u v)
        by (intros; unfold half_square; do 2 f_equal; lia).
      destruct (tail_ok H (- x) y HH Y) as [X1 X2]. destruct (tail_ok H (- t) U HH UP) as [X3 X4]. rewrite MIR in X1, X2, X3, X4.
      assert (NX : IZR (- x) / IZR y = m - tt) by (rewrite opp_IZR; unfold Rdiv; rewrite Ropp_mult_distr_l_reverse; fold (IZR x / IZR y); rewrite moved; ring).
      assert (NT : IZR (- t) / IZR U = - tt) by (unfold tt, s; rewrite opp_IZR; unfold Rdiv; ring).
      rewrite NX, NT in *. rewrite !tail_upper in *.
      set (Tx := fst (tail_range p H (- x) y _)) in *. set (Tt := snd (tail_range p H (- t) U _)) in *. set (mx := Z.max _ _) in T.
      assert (K0 : 0 <= IZR k) by (rewrite KE; apply Rmult_le_pos; [apply Rmult_le_pos; lra|apply Rmult_le_pos; lra]).
      assert (MX : Rabs (s * IZR n - IZR k * (s * r)) <= IZR mx).
      { rewrite <- Rabs_Ropp. apply max_abs; rewrite minus_IZR, !mult_IZR; fold s;
          [assert (IZR k * (s * r) <= IZR k * IZR high) by (apply Rmult_le_compat_l; lra)
          |assert (IZR k * IZR low <= IZR k * (s * r)) by (apply Rmult_le_compat_l; lra)]; lra. }
      assert (AB : s * (s * IZR (q_den p)) * Rabs (1 - al * (1 - q + q * r)) <= IZR mx).
      { eapply Rle_trans; [|exact MX]. rewrite <- (Rabs_pos_eq (s * (s * IZR (q_den p)))) at 1
          by (apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra]).
        rewrite <- Rabs_mult. right; f_equal. rewrite NE, KE. ring. }
      destruct (Z.leb_spec n 0) as [G|G].
      { assert (FL : curve Add q m al <= 0).
        { apply (add_flat q m). apply IZR_le in G. rewrite NE in G. assert (0 < s * IZR (q_den p)) by now apply Rmult_lt_0_compat. nra. }
        apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|]. nra. }
      apply IZR_lt in G. rewrite plus_IZR, !mult_IZR, minus_IZR, !mult_IZR in T. fold s in T.
      assert (V1 : IZR n * (s * (2 * half * upper (- tt))) >= 0 \/ True) by auto.
      assert (V2 : IZR n * (s * (2 * half * upper (- tt))) <= IZR n * IZR Tt) by (apply Rmult_le_compat_l; lra).
      assert (V3 : IZR k * IZR Tx <= IZR k * (s * (2 * half * upper (m - tt)))) by (apply Rmult_le_compat_l; lra).
      assert (V4 : s * (IZR n * (s * (2 * half * upper (- tt))) - IZR k * (s * (2 * half * upper (m - tt)))) <= s * (IZR n * IZR Tt - IZR k * IZR Tx))
        by (apply Rmult_le_compat_l; lra).
      assert (MP : 0 <= IZR mx) by (eapply Rle_trans; [apply Rabs_pos|exact MX]).
      assert (V5 : 2 * (s * half) * IZR mx <= 2 * IZR (snd H) * IZR mx) by (apply Rmult_le_compat_r; lra).
      assert (V6 : 2 * (s * half) * (s * (s * IZR (q_den p)) * Rabs (1 - al * (1 - q + q * r))) <= 2 * (s * half) * IZR mx)
        by (apply Rmult_le_compat_l; [apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra]|auto]).
      assert (V7 : s * (s * (IZR (q_den p) * (2 * half) * (s * curve Add q m al))) <=
        s * (IZR n * (s * (2 * half * upper (- tt))) - IZR k * (s * (2 * half * upper (m - tt))))
        + 2 * (s * half) * (s * (s * IZR (q_den p)) * Rabs (1 - al * (1 - q + q * r)))).
      { rewrite NE, KE. assert (Z0 : 0 <= s * s * s * IZR (q_den p) * (2 * half)) by (repeat apply Rmult_le_pos; lra).
        apply (Rmult_le_compat_l _ _ _ Z0) in C. lra. }
      assert (V8 : s * (IZR (q_den p) * (2 * IZR (fst H)) * IZR d) <= s * (IZR (q_den p) * (2 * (s * half)) * IZR d))
        by (apply Rmult_le_compat_l; lra).
      lra.
  - set (x' := (t * sigma_num p + sigma_den p * U)%Z) in *. cbv zeta in T. set (n := ((q_den p - q_num p) * (U - a))%Z) in *.
    set (k := (U * q_num p)%Z) in *. set (k' := (a * q_num p)%Z) in *. fold y in T.
    set (E2 := half_square W (terms p) x' y) in *. set (low' := (fst (half_square W (terms p) t U) * U / snd E2)%Z) in *.
    set (high' := ceiling (snd (half_square W (terms p) t U) * U) (fst E2)) in *.
    assert (MV : IZR x' / IZR y = tt - - m).
    { assert (A := IZR_lt _ _ Hsn). assert (B := IZR_lt _ _ Hsd). unfold x', y, tt, m, sigma_of. rewrite plus_IZR, !mult_IZR. fold s. field; lra. }
    destruct (ratio_at (- m) x' MV) as [R3 R4]. fold E2 low' high' in R3, R4. set (r' := rho (- m) tt) in *.
    assert (NE : IZR n = s * IZR (q_den p) * ((1 - q) * (1 - al))).
    { unfold n. rewrite mult_IZR, !minus_IZR. fold s. rewrite <- AE, <- QE. ring. }
    assert (KE : IZR k = s * IZR (q_den p) * q) by (unfold k; rewrite mult_IZR, <- QE; fold s; ring).
    assert (KE' : IZR k' = s * IZR (q_den p) * (al * q)) by (unfold k'; rewrite mult_IZR, <- AE, <- QE; ring).
    assert (K0 : 0 <= IZR k) by (rewrite KE; apply Rmult_le_pos; [apply Rmult_le_pos; lra|lra]).
    assert (K0' : 0 <= IZR k') by (rewrite KE'; apply Rmult_le_pos; [apply Rmult_le_pos; lra|apply Rmult_le_pos; lra]).
    apply Z.leb_le in T. apply IZR_le in T. apply FIN. apply Rmult_le_reg_l with s; auto.
    assert (C := replaced_test q m Q M al tt A0). unfold balance in C. fold r in C.
    replace (exp (- (m * tt) - m * m / 2)) with r' in C by (unfold r', rho; f_equal; field).
    destruct (tail_ok H x y HH Y) as [X1 X2]. destruct (tail_ok H t U HH UP) as [X3 X4]. destruct (tail_ok H x' y HH Y) as [X5 X6].
    rewrite moved in X1, X2. rewrite MV in X5, X6. fold s tt in X3, X4. fold E2 in X5, X6. rewrite !tail_upper in *.
    replace (tt - - m) with (tt + m) in X5, X6 by ring.
    set (Tx := snd (tail_range p H x y _)) in *. set (T1 := fst (tail_range p H t U _)) in *. set (T2 := snd (tail_range p H t U _)) in *.
    set (Ty := fst (tail_range p H x' y E2)) in *. set (mx := Z.max (U * n + k * high - k' * low') _) in T. set (nt := Z.max (n * T1) (n * T2)) in T.
    assert (MX : Rabs (s * IZR n + IZR k * (s * r) - IZR k' * (s * r')) <= IZR mx).
    { apply max_abs; rewrite ?plus_IZR, ?minus_IZR, ?plus_IZR, ?minus_IZR, !mult_IZR; fold s;
        [assert (IZR k * (s * r) <= IZR k * IZR high) by (apply Rmult_le_compat_l; lra); assert (IZR k' * IZR low' <= IZR k' * (s * r')) by (apply Rmult_le_compat_l; lra)
        |assert (IZR k * IZR low <= IZR k * (s * r)) by (apply Rmult_le_compat_l; lra); assert (IZR k' * (s * r') <= IZR k' * IZR high') by (apply Rmult_le_compat_l; lra)]; lra. }
    assert (AB : s * (s * IZR (q_den p)) * Rabs ((1 - q) * (1 - al) + q * r - al * q * r') <= IZR mx).
    { eapply Rle_trans; [|exact MX]. rewrite <- (Rabs_pos_eq (s * (s * IZR (q_den p)))) at 1
        by (apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra]).
      rewrite <- Rabs_mult. right; f_equal. rewrite NE, KE, KE'. ring. }
    assert (MP : 0 <= IZR mx) by (eapply Rle_trans; [apply Rabs_pos|exact MX]).
    assert (NT : IZR n * (s * (2 * half * upper tt)) <= IZR nt).
    { assert (B1 := IZR_le _ _ (Z.le_max_l (n * T1) (n * T2))). assert (B2 := IZR_le _ _ (Z.le_max_r (n * T1) (n * T2))). fold nt in B1, B2.
      rewrite mult_IZR in B1, B2. destruct (Rle_dec 0 (IZR n)) as [G|G].
      - assert (IZR n * (s * (2 * half * upper tt)) <= IZR n * IZR T2) by (apply Rmult_le_compat_l; lra). lra.
      - assert (- IZR n * IZR T1 <= - IZR n * (s * (2 * half * upper tt))) by (apply Rmult_le_compat_l; lra). lra. }
    rewrite !plus_IZR, !mult_IZR in T. rewrite minus_IZR, plus_IZR, !mult_IZR in T. fold s in T.
    assert (V1 : IZR k * (s * (2 * half * upper (tt - m))) <= IZR k * IZR Tx) by (apply Rmult_le_compat_l; lra).
    assert (V2 : IZR k' * IZR Ty <= IZR k' * (s * (2 * half * upper (tt + m)))) by (apply Rmult_le_compat_l; lra).
    assert (V4 : s * (IZR k * (s * (2 * half * upper (tt - m))) + IZR n * (s * (2 * half * upper tt)) - IZR k' * (s * (2 * half * upper (tt + m))))
      <= s * (IZR k * IZR Tx + IZR nt - IZR k' * IZR Ty)) by (apply Rmult_le_compat_l; lra).
    assert (V5 : 2 * (s * half) * IZR mx <= 2 * IZR (snd H) * IZR mx) by (apply Rmult_le_compat_r; lra).
    assert (V6 : 2 * (s * half) * (s * (s * IZR (q_den p)) * Rabs ((1 - q) * (1 - al) + q * r - al * q * r')) <= 2 * (s * half) * IZR mx)
      by (apply Rmult_le_compat_l; [apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra]|auto]).
    assert (V7 : s * (s * (IZR (q_den p) * (2 * half) * (s * curve Replaced q m al))) <=
      s * (IZR k * (s * (2 * half * upper (tt - m))) + IZR n * (s * (2 * half * upper tt)) - IZR k' * (s * (2 * half * upper (tt + m))))
      + 2 * (s * half) * (s * (s * IZR (q_den p)) * Rabs ((1 - q) * (1 - al) + q * r - al * q * r'))).
    { rewrite NE, KE, KE'. assert (Z0 : 0 <= s * s * s * IZR (q_den p) * (2 * half)) by (repeat apply Rmult_le_pos; lra).
      apply (Rmult_le_compat_l _ _ _ Z0) in C. unfold replaced_gain in C. lra. }
    assert (V8 : s * (IZR (q_den p) * (2 * IZR (fst H)) * IZR d) <= s * (IZR (q_den p) * (2 * (s * half)) * IZR d))
      by (apply Rmult_le_compat_l; lra).
    lra. Qed.
End Dot.

End Right.

(* What `covers` means. *)
Theorem covers_way_ok o p h_num h_den B v : covers_way o p h_num h_den B v = true ->
  let L := law_of (IZR h_num / IZR h_den) (IZR (2 ^ B)) v in
  nonneg L /\ 1 <= tot L /\ 0 < q_of p <= 1 /\ 0 < sigma_of p /\
  forall e, curve o (q_of p) (/ sigma_of p) (exp e) <= delta e L.
Proof. unfold covers_way. cbv zeta. intros T. apply andb_prop in T as [SS SC]. destruct (sound_step_ok p SS) as [[HW _] [QR SG]].
  assert (MG := m_gt0 p SS). assert (SR := unit_gt0 (precision p) HW). assert (IC := curve_is_curve _ _ QR MG o).
  destruct (covers_grid_ok (precision p) HW (fun _ => dot_above p o (half_range p)) _ (terms p) (tests p) h_num h_den B v IC) with (2 := SC)
    as [N [M K]]; [|exact (conj N (conj M (conj QR (conj SG K))))].
  intros i a t d Pa Ea DA. apply (dot_ok p SS) in DA as [_ DA]; auto using half_ok.
  eapply Rle_trans; [|exact DA]. apply IC. split; [apply Rmult_le_pos; [now apply IZR_le|left; now apply Rinv_0_lt_compat]|].
  apply Rmult_le_reg_r with (IZR (unit (precision p))); auto. unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra. Qed.
Theorem covers_ok p h_num h_den B v : covers p h_num h_den B v = true ->
  let L := law_of (IZR h_num / IZR h_den) (IZR (2 ^ B)) v in
  nonneg L /\ 1 <= tot L /\ 0 < q_of p <= 1 /\ 0 < sigma_of p /\
  forall e, curve (in_order p) (q_of p) (/ sigma_of p) (exp e) <= delta e L.
Proof. apply covers_way_ok. Qed.
