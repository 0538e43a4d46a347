(* 10. Integrals over the line, and the normal densities.

   `line` is Riemann's integral from -infinity to infinity.  `std` is e^(-x^2/2) divided by its integral, `upper t` the
   mass of std beyond t, and
     stick m a = upper (t - m) - a upper t,  t = ln a / m + m / 2,
   is the integral of (std (x - m) - a std x)_+ (stick_int): the hockey-stick divergence of order a of two normal laws m
   standard deviations apart.  It grows with the distance (stick_mono, by the test that is best for the smaller one). *)
Require Import Reals Lra.
From Coquelicot Require Import Coquelicot.
From VerifiedDP Require Import Law Integral.
Open Scope R_scope.

(* ---------- integrals over the line ---------- *)
Definition is_line (f : R -> R) (v : R) :=
  (forall a b, ex_RInt f a b) /\
  forall e, 0 < e -> exists M, 0 <= M /\ forall a b, a <= - M -> M <= b -> Rabs (RInt f a b - v) <= e.

Lemma close_unique x y : (forall e, 0 < e -> x <= y + e) -> x <= y.
Proof. intros H. destruct (Rle_dec x y) as [G|G]; auto. specialize (H ((x - y) / 2)). lra. Qed.
Lemma line_zero : is_line (fun _ => 0) 0.
Proof. split; [intros; apply ex_RInt_const|]. intros e He. exists 0; split; [lra|]. intros a b _ _.
  rewrite RInt_const. unfold scal; simpl; unfold mult; simpl. rewrite Rmult_0_r, Rminus_0_r, Rabs_R0. lra. Qed.
Lemma line_ext f g v : (forall x, f x = g x) -> is_line f v -> is_line g v.
Proof. intros H [X L]; split.
  - intros a b. apply (ex_RInt_ext f); auto.
  - intros e He. destruct (L e He) as [M [M0 HM]]. exists M; split; auto. intros a b Ha Hb.
    rewrite <- (RInt_ext f g); auto. Qed.
Lemma line_plus f g u v : is_line f u -> is_line g v -> is_line (fun x => f x + g x) (u + v).
Proof. intros [X L] [Y K]; split; [intros; now apply (ex_RInt_plus f g)|].
  intros e He. destruct (L (e / 2)) as [M [M0 HM]]; [lra|]. destruct (K (e / 2)) as [N [N0 HN]]; [lra|].
  exists (Rmax M N). assert (C := Rmax_l M N). assert (D := Rmax_r M N). split; [lra|]. intros a b Ha Hb.
  specialize (HM a b ltac:(lra) ltac:(lra)). specialize (HN a b ltac:(lra) ltac:(lra)).
  assert (P := RInt_plus f g a b (X a b) (Y a b)). unfold plus in P; simpl in P. rewrite P.
  apply Rabs_le_between in HM. apply Rabs_le_between in HN. apply Rabs_le_between. lra. Qed.
Lemma line_scal c f v : is_line f v -> is_line (fun x => c * f x) (c * v).
Proof. intros [X L]; split; [intros; now apply (ex_RInt_scal f)|].
  intros e He. assert (C := Rabs_pos c). destruct (L (e / (Rabs c + 1))) as [M [M0 HM]]; [apply Rdiv_lt_0_compat; lra|].
  exists M; split; auto. intros a b Ha Hb. specialize (HM a b Ha Hb).
  assert (P := RInt_scal f a b c (X a b)). unfold scal in P; simpl in P; unfold mult in P; simpl in P. rewrite P.
  replace (c * RInt f a b - c * v) with (c * (RInt f a b - v)) by ring. rewrite Rabs_mult.
  apply Rle_trans with (Rabs c * (e / (Rabs c + 1))); [now apply Rmult_le_compat_l|].
  apply Rmult_le_reg_r with (Rabs c + 1); [lra|]. field_simplify; [|lra]. nra. Qed.
Lemma line_le f g u v : (forall x, f x <= g x) -> is_line f u -> is_line g v -> u <= v.
Proof. intros H [X L] [Y K]. apply close_unique. intros e He.
  destruct (L (e / 2)) as [M [M0 HM]]; [lra|]. destruct (K (e / 2)) as [N [N0 HN]]; [lra|].
  assert (C := Rmax_l M N). assert (D := Rmax_r M N). set (T := Rmax M N) in *.
  specialize (HM (- T) T ltac:(lra) ltac:(lra)). specialize (HN (- T) T ltac:(lra) ltac:(lra)).
  assert (P : RInt f (- T) T <= RInt g (- T) T) by (apply RInt_le; auto; lra).
  apply Rabs_le_between in HM. apply Rabs_le_between in HN. lra. Qed.
Definition line : integral R := {| is_int := is_line; int_zero := line_zero; int_ext := line_ext; int_plus := line_plus;
  int_scal := line_scal; int_le := line_le |}.

(* What is between 0 and M times a density has an integral if it has one between any two points, and it is a limit. *)
Lemma wider (f : R -> R) a b a' b' : (forall a b, ex_RInt f a b) -> (forall x, 0 <= f x) -> a' <= a <= b -> b <= b' ->
  RInt f a b <= RInt f a' b'.
Proof. intros X F A B. assert (C1 := RInt_Chasles f a' a b' (X _ _) (X _ _)). assert (C2 := RInt_Chasles f a b b' (X _ _) (X _ _)).
  unfold plus in C1, C2; simpl in C1, C2. rewrite <- C1, <- C2.
  assert (0 <= RInt f a' a) by (apply RInt_ge_0; auto; lra). assert (0 <= RInt f b b') by (apply RInt_ge_0; auto; lra).
  change (RInt f a b <= RInt f a' a + (RInt f a b + RInt f b b')). lra. Qed.
Lemma dominated_int (F p : R -> R) M : 0 <= M -> (forall a b, ex_RInt F a b) -> (forall x, 0 <= F x <= M * p x) ->
  (forall x, 0 <= p x) -> is_line p 1 -> exists v, is_line F v.
Proof. intros HM FX FB PB [PX PL].
  assert (P1 : forall a b, a <= b -> RInt p a b <= 1).
  { intros a b H. apply close_unique. intros e He. destruct (PL e He) as [N [N0 HN]]. specialize (HN (Rmin a (- N)) (Rmax b N) (Rmin_r _ _) (Rmax_r _ _)).
    assert (K := wider p a b (Rmin a (- N)) (Rmax b N) PX PB ltac:(split; [apply Rmin_l|auto]) (Rmax_l _ _)).
    apply Rabs_le_between in HN. lra. }
  set (h := fun x => M * p x - F x).
  assert (HX : forall a b, ex_RInt h a b) by (intros; apply (ex_RInt_minus (fun x => M * p x) F); auto; now apply (ex_RInt_scal p)).
  assert (HR : forall a b, RInt h a b = M * RInt p a b - RInt F a b).
  { intros. apply (is_RInt_unique (V := R_CompleteNormedModule)). apply (is_RInt_minus (fun x => M * p x) F).
    - apply (is_RInt_scal p), (RInt_correct p); auto.
    - apply (RInt_correct F); auto. }
  assert (H0 : forall x, 0 <= h x) by (intros x; unfold h; specialize (FB x); lra).
  assert (F0 : forall x, 0 <= F x) by (intros x; apply FB).
  assert (D : forall a b a' b', a' <= a <= b -> b <= b' -> RInt F a' b' <= RInt F a b + M * (1 - RInt p a b)).
  { intros a b a' b' A B. assert (K := wider h a b a' b' HX H0 A B). rewrite !HR in K. assert (L := P1 a' b' ltac:(lra)).
    assert (M * RInt p a' b' <= M * 1) by (now apply Rmult_le_compat_l). lra. }
  set (Y := fun y : R => exists T, 0 <= T /\ y = RInt F (- T) T).
  assert (YB : Raxioms.bound Y).
  { exists M. intros y [T [T0 ->]]. assert (K := wider h 0 0 (- T) T HX H0 ltac:(lra) ltac:(lra)). rewrite (RInt_point 0 h), HR in K.
    change (0 <= M * RInt p (- T) T - RInt F (- T) T) in K. assert (L := P1 (- T) T ltac:(lra)).
    assert (M * RInt p (- T) T <= M * 1) by (now apply Rmult_le_compat_l). lra. }
  destruct (completeness Y YB ltac:(exists (RInt F (- 0) 0), 0; split; [lra|auto])) as [v [V1 V2]]. exists v.
  split; [exact FX|]. intros e He. destruct (PL (e / (M + 1))) as [N [N0 HN]]; [apply Rdiv_lt_0_compat; lra|].
  assert (ME : M * (e / (M + 1)) <= e).
  { apply Rmult_le_reg_r with (M + 1); [lra|]. replace (M * (e / (M + 1)) * (M + 1)) with (M * e) by (field; lra). nra. }
  exists N; split; [auto|]. intros a b Ha Hb. specialize (HN a b Ha Hb). apply Rabs_le_between in HN.
  assert (ML : M * (1 - RInt p a b) <= e) by (eapply Rle_trans; [|exact ME]; apply Rmult_le_compat_l; lra).
  apply Rabs_le_between. split.
  - assert (v <= RInt F a b + e); [|lra]. apply V2. intros y [T [T0 ->]]. set (T' := Rmax T (Rmax (- a) b)).
    assert (A1 : T <= T') by apply Rmax_l. assert (A2 : - a <= T' /\ b <= T') by (unfold T'; split; (eapply Rle_trans; [|apply Rmax_r]); [apply Rmax_l|apply Rmax_r]).
    assert (K := wider F (- T) T (- T') T' FX F0 ltac:(lra) ltac:(lra)). assert (L := D a b (- T') T' ltac:(lra) ltac:(lra)). lra.
  - set (T' := Rmax (- a) b). assert (A2 : - a <= T' /\ b <= T') by (unfold T'; split; [apply Rmax_l|apply Rmax_r]).
    assert (K := wider F a b (- T') T' FX F0 ltac:(lra) ltac:(lra)). assert (L : RInt F (- T') T' <= v) by (apply V1; exists T'; split; [lra|auto]). lra. Qed.
Definition line_value (F : R -> R) : R := real (Lim (fun T => RInt F (- T) T) p_infty).
Lemma line_lim F v : is_line F v -> line_value F = v.
Proof. unfold line_value. intros [_ L]. assert (K : is_lim (fun T => RInt F (- T) T) p_infty v); [|now rewrite (is_lim_unique _ _ _ K)].
  apply is_lim_spec. intros e. assert (E := cond_pos e). destruct (L (e / 2)) as [N [N0 HN]]; [lra|]. exists N. intros T HT.
  eapply Rle_lt_trans; [apply HN; lra|lra]. Qed.
(* Riemann's integral between two points, moved and mirrored. *)
Lemma ex_affine (f : R -> R) u c : (forall a b, ex_RInt f a b) -> u <> 0 -> forall a b, ex_RInt (fun x => f (u * x + c)) a b.
Proof. intros X U a b. assert (K := ex_RInt_comp_lin f u c a b (X _ _)).
  apply (ex_RInt_scal _ _ _ (/ u)) in K. eapply ex_RInt_ext; [|exact K]. intros x _.
  unfold scal; simpl; unfold mult; simpl. field; auto. Qed.
Lemma RInt_affine (f : R -> R) u c a b : (forall a b, ex_RInt f a b) -> u <> 0 ->
  RInt (fun x => f (u * x + c)) a b = / u * RInt f (u * a + c) (u * b + c).
Proof. intros X U. assert (K : u * RInt (fun x => f (u * x + c)) a b = RInt f (u * a + c) (u * b + c)).
  { rewrite <- (RInt_comp_lin f u c a b (X _ _)). symmetry. apply (RInt_scal (fun y => f (u * y + c)) a b u).
    now apply ex_affine. }
  rewrite <- K, <- Rmult_assoc, Rinv_l, Rmult_1_l by auto. reflexivity. Qed.
Lemma line_affine f u c v : 0 < u -> is_line f v -> is_line (fun x => f (u * x + c)) (/ u * v).
Proof. intros U [X L]; split; [now apply ex_affine; [|lra]|]. intros e He.
  destruct (L (u * e)) as [M [M0 HM]]; [now apply Rmult_lt_0_compat|]. assert (Ac := Rabs_pos c).
  assert (V : 0 < / u) by now apply Rinv_0_lt_compat. assert (UV : u * / u = 1) by (field; lra).
  exists ((M + Rabs c) * / u). split; [apply Rmult_le_pos; lra|]. intros a b Ha Hb.
  rewrite RInt_affine by (auto; lra). rewrite <- Rmult_minus_distr_l, Rabs_mult, Rabs_pos_eq by lra.
  apply (Rmult_le_compat_l u) in Ha; [|lra]. apply (Rmult_le_compat_l u) in Hb; [|lra].
  replace (u * - ((M + Rabs c) * / u)) with (- (M + Rabs c)) in Ha by (field; lra).
  replace (u * ((M + Rabs c) * / u)) with (M + Rabs c) in Hb by (field; lra).
  assert (C1 := Rle_abs c). assert (C2 := Rle_abs (- c)). rewrite Rabs_Ropp in C2.
  specialize (HM (u * a + c) (u * b + c) ltac:(lra) ltac:(lra)).
  apply (Rmult_le_compat_l (/ u)) in HM; [|lra]. replace (/ u * (u * e)) with e in HM by (field; lra). exact HM. Qed.
Lemma line_mirror f v : is_line f v -> is_line (fun x => f (- x)) v.
Proof. intros [X L]. assert (EX : forall a b, ex_RInt (fun x => f (-1 * x + 0)) a b) by (apply ex_affine; [auto|lra]).
  apply (line_ext (fun x => f (-1 * x + 0))); [intros; f_equal; ring|]. split; auto. intros e He.
  destruct (L e He) as [M [M0 HM]]. exists M; split; auto. intros a b Ha Hb. rewrite RInt_affine by (auto; lra).
  specialize (HM (-1 * b + 0) (-1 * a + 0) ltac:(lra) ltac:(lra)).
  assert (S := opp_RInt_swap f (-1 * b + 0) (-1 * a + 0) (X _ _)). unfold opp in S; simpl in S.
  replace (/ -1 * RInt f (-1 * a + 0) (-1 * b + 0)) with (RInt f (-1 * b + 0) (-1 * a + 0)) by lra. exact HM. Qed.

(* ---------- the normal density ---------- *)
Definition g (x : R) := exp (- (x ^ 2) / 2).
Definition area (t : R) := RInt g 0 t.
Lemma g_pos x : 0 < g x. Proof. apply exp_pos. Qed.
Lemma g_even x : g (- x) = g x. Proof. unfold g. f_equal. field. Qed.
Lemma g_cont x : continuous g x.
Proof. apply (ex_derive_continuous g); unfold g; auto_derive; auto. Qed.
Lemma g_ex a b : ex_RInt g a b.
Proof. apply (ex_RInt_continuous g); intros; apply g_cont. Qed.
Lemma g_derive u : is_derive g u (- u * g u).
Proof. unfold g. auto_derive; auto. replace (- (u * (u * 1)) * / 2) with (- u ^ 2 / 2) by (simpl; field). field. Qed.
Lemma xg_int M T : is_RInt (fun x => x * g x) M T (g M - g T).
Proof. replace (g M - g T) with (minus (- g T) (- g M)) by (unfold minus, plus, opp; simpl; ring).
  apply (is_RInt_derive (fun x => - g x) (fun x => x * g x)); intros x _.
  - unfold g; auto_derive; auto. replace (- (x * (x * 1)) * / 2) with (- x ^ 2 / 2) by (simpl; field). field.
  - apply (ex_derive_continuous (fun x => x * g x)); unfold g; auto_derive; auto. Qed.
Lemma tail_at M T : 1 <= M <= T -> 0 <= RInt g M T <= g M.
Proof. intros H; split.
  - apply RInt_ge_0; auto using g_ex; try lra. intros; unfold g; left; apply exp_pos.
  - apply Rle_trans with (g M - g T); [|assert (0 < g T) by apply exp_pos; lra].
    rewrite <- (is_RInt_unique _ _ _ _ (xg_int M T)). apply RInt_le; auto using g_ex; try lra.
    + eexists; apply xg_int.
    + intros x Hx. rewrite <- (Rmult_1_l (g x)) at 1. apply Rmult_le_compat_r; [left; apply g_pos|lra]. Qed.
Lemma g_small e : 0 < e -> exists M, 1 <= M /\ forall x, M <= x -> g x < e.
Proof. intros He. exists (Rmax 1 (1 - 2 * ln e)). split; [apply Rmax_l|]. intros x Hx.
  assert (1 <= x) by (eapply Rle_trans; [apply Rmax_l|exact Hx]).
  assert (1 - 2 * ln e <= x) by (eapply Rle_trans; [apply Rmax_r|exact Hx]).
  rewrite <- (exp_ln e He). unfold g. apply exp_increasing. simpl. nra. Qed.
Lemma area_chasles a b : RInt g a b = area b - area a.
Proof. unfold area. assert (C := RInt_Chasles g 0 a b (g_ex 0 a) (g_ex a b)). unfold plus in C; simpl in C. lra. Qed.
Lemma area_grows a b : a <= b -> area a <= area b.
Proof. intros H. assert (0 <= RInt g a b) by (apply RInt_ge_0; auto using g_ex; intros; left; apply g_pos).
  rewrite area_chasles in *. lra. Qed.
Lemma area_odd t : area (- t) = - area t.
Proof. unfold area. assert (K := RInt_affine g (-1) 0 0 (- t) g_ex ltac:(lra)).
  rewrite (RInt_ext _ g) in K by (intros; rewrite <- g_even; f_equal; ring).
  replace (-1 * 0 + 0) with 0 in K by ring. replace (-1 * - t + 0) with t in K by ring. lra. Qed.
(* the area beyond 0 *)
Lemma area_bounded t : area t <= area 1 + g 1.
Proof. destruct (Rle_dec t 1) as [H|H]; [assert (K := area_grows t 1 H); assert (G := g_pos 1); lra|].
  assert (K := tail_at 1 t ltac:(lra)). rewrite area_chasles in K. lra. Qed.
Definition an_area (y : R) := exists t, y = area t.
Lemma areas_bounded : bound an_area.
Proof. exists (area 1 + g 1). intros y [t ->]. apply area_bounded. Qed.
Lemma areas_exist : exists y, an_area y.
Proof. exists (area 0), 0. reflexivity. Qed.
Definition half : R := proj1_sig (completeness an_area areas_bounded areas_exist).
Lemma half_lub : is_lub an_area half.
Proof. unfold half. apply proj2_sig. Qed.
Lemma area_half t : area t <= half.
Proof. apply half_lub. now exists t. Qed.
Lemma half_area t : 1 <= t -> half <= area t + g t.
Proof. intros H. apply half_lub. intros y [x ->]. destruct (Rle_dec x t) as [L|L].
  - assert (K := area_grows x t L). assert (G := g_pos t). lra.
  - assert (K := tail_at t x ltac:(lra)). rewrite area_chasles in K. lra. Qed.
Lemma half_pos : 0 < half.
Proof. assert (K := area_half 1). assert (area 0 = 0) by (unfold area; apply (RInt_point 0 g)).
  assert (0 < RInt g 0 1); [|unfold area in *; lra]. apply RInt_gt_0; [lra|intros; apply g_pos|intros; apply g_cont]. Qed.

(* all of g, and what is beyond t *)
Definition beyond (t x : R) := if Rlt_dec t x then 1 else 0.
Lemma g_line : is_line g (2 * half).
Proof. split; [apply g_ex|]. intros e He. destruct (g_small (e / 2)) as [M [M1 HM]]; [lra|]. exists M; split; [lra|].
  intros a b Ha Hb. rewrite area_chasles. assert (O := area_odd (- a)). rewrite Ropp_involutive in O. rewrite O.
  assert (A1 := area_half b). assert (A2 := area_half (- a)). assert (B1 := half_area b ltac:(lra)).
  assert (B2 := half_area (- a) ltac:(lra)). assert (S1 := HM b Hb). assert (S2 := HM (- a) ltac:(lra)).
  apply Rabs_le_between. lra. Qed.
Lemma tail_ex t a b : a <= t -> t <= b -> is_RInt (fun x => beyond t x * g x) a b (RInt g t b).
Proof. intros Ha Hb. replace (RInt g t b) with (plus 0 (RInt g t b)) by (unfold plus; simpl; ring).
  apply (@is_RInt_Chasles R_NormedModule (fun x => beyond t x * g x) a t b 0 (RInt g t b)).
  - apply (@is_RInt_ext R_NormedModule (fun _ => 0)).
    + intros x. rewrite Rmin_left, Rmax_right by auto. intros [_ H]. unfold beyond. destruct (Rlt_dec t x); lra.
    + assert (K := is_RInt_const a t 0). unfold scal in K; simpl in K; unfold mult in K; simpl in K. now rewrite Rmult_0_r in K.
  - apply (@is_RInt_ext R_NormedModule g).
    + intros x. rewrite Rmin_left, Rmax_right by auto. intros [H _]. unfold beyond. destruct (Rlt_dec t x); lra.
    + apply (RInt_correct g), g_ex. Qed.
Lemma tail_line t : is_line (fun x => beyond t x * g x) (half - area t).
Proof. assert (EX : forall a b, a <= t -> t <= b -> ex_RInt (fun x => beyond t x * g x) a b) by (intros; eexists; now apply tail_ex).
  split.
  - intros a b. set (lo := Rmin t (Rmin a b)). set (hi := Rmax t (Rmax a b)).
    assert (L1 : lo <= t) by apply Rmin_l. assert (L2 : t <= hi) by apply Rmax_l.
    assert (L3 : lo <= a /\ lo <= b) by (unfold lo; split; eapply Rle_trans; [apply Rmin_r|apply Rmin_l|apply Rmin_r|apply Rmin_r]).
    assert (L4 : a <= hi /\ b <= hi) by (unfold hi; split; (eapply Rle_trans; [|apply Rmax_r]); [apply Rmax_l|apply Rmax_r]).
    assert (W := EX lo hi L1 L2).
    assert (WA : ex_RInt (fun x => beyond t x * g x) lo a) by (apply (@ex_RInt_Chasles_1 R_CompleteNormedModule (fun x => beyond t x * g x) lo a hi); [lra|exact W]).
    assert (WB : ex_RInt (fun x => beyond t x * g x) lo b) by (apply (@ex_RInt_Chasles_1 R_CompleteNormedModule (fun x => beyond t x * g x) lo b hi); [lra|exact W]).
    apply (@ex_RInt_Chasles R_NormedModule (fun x => beyond t x * g x) a lo b); auto.
    now apply ex_RInt_swap.
  - intros e He. destruct (g_small e He) as [M [M1 HM]]. assert (T := Rabs_pos t). exists (M + Rabs t); split; [lra|].
    intros a b Ha Hb. assert (C1 := Rle_abs t). assert (C2 := Rle_abs (- t)). rewrite Rabs_Ropp in C2.
    rewrite (is_RInt_unique _ _ _ _ (tail_ex t a b ltac:(lra) ltac:(lra))), area_chasles.
    assert (A1 := area_half b). assert (B1 := half_area b ltac:(lra)). assert (S1 := HM b ltac:(lra)).
    apply Rabs_le_between. lra. Qed.

Definition std (x : R) := / (2 * half) * g x.
Definition upper (t : R) := / (2 * half) * (half - area t).
Lemma std_ge0 x : 0 <= std x.
Proof. assert (H := half_pos). apply Rmult_le_pos; [left; apply Rinv_0_lt_compat; lra|left; apply g_pos]. Qed.
Lemma std_even x : std (- x) = std x. Proof. unfold std. now rewrite g_even. Qed.
Lemma std_line m : is_line (fun x => std (x - m)) 1.
Proof. assert (H := half_pos). replace 1 with (/ 1 * (/ (2 * half) * (2 * half))) by (field; lra).
  apply (line_ext (fun x => std (1 * x + - m))); [intros; f_equal; ring|].
  apply (line_affine std 1 (- m)); [lra|]. apply line_scal, g_line. Qed.
Lemma upper_line t m : is_line (fun x => beyond t x * std (x - m)) (upper (t - m)).
Proof. apply (line_ext (fun x => (fun z => beyond (t - m) z * std z) (1 * x + - m))).
  - intros x. cbv beta. replace (1 * x + - m) with (x - m) by ring. f_equal. unfold beyond.
    destruct (Rlt_dec t x), (Rlt_dec (t - m) (x - m)); lra.
  - replace (upper (t - m)) with (/ 1 * upper (t - m)) by (field; lra).
    apply (line_affine (fun z => beyond (t - m) z * std z) 1 (- m)); [lra|].
    apply (line_ext (fun z => / (2 * half) * (beyond (t - m) z * g z))); [intros; unfold std; ring|].
    apply line_scal, tail_line. Qed.
Lemma upper_falls s t : s <= t -> upper t <= upper s.
Proof. intros H. assert (K := area_grows s t H). assert (P := half_pos). apply Rmult_le_compat_l; [|lra].
  left; apply Rinv_0_lt_compat; lra. Qed.

(* ---------- two normal laws ---------- *)
Lemma std_ratio m x : std (x - m) = exp (m * x - m * m / 2) * std x.
Proof. unfold std, g. rewrite (Rmult_comm (exp (m * x - m * m / 2))), Rmult_assoc, <- exp_plus. do 2 f_equal. field. Qed.
Definition cut (m a : R) := ln a / m + m / 2.
Definition stick (m a : R) := if Rlt_dec 0 a then upper (cut m a - m) - a * upper (cut m a) else 1 - a.
Theorem stick_int m a : 0 < m -> is_line (fun x => pos (std (x - m) - a * std x)) (stick m a).
Proof. intros Hm. unfold stick. destruct (Rlt_dec 0 a) as [Ha|Ha].
  - set (t := cut m a). apply (line_ext (fun x => beyond t x * std (x - m) + (- a) * (beyond t x * std (x - 0)))).
    + intros x. rewrite Rminus_0_r. rewrite std_ratio. unfold beyond, t, cut.
      assert (D := std_ge0 x). assert (X : a = exp (m * (ln a / m + m / 2) - m * m / 2)).
      { rewrite <- (exp_ln a Ha) at 1. f_equal. field; lra. }
      destruct (Rlt_dec (ln a / m + m / 2) x) as [G|G].
      * assert (a <= exp (m * x - m * m / 2)) by (rewrite X at 1; apply exp_le; nra). rewrite pos_of_pos; [ring|nra].
      * assert (exp (m * x - m * m / 2) <= a) by (rewrite X at 1; apply exp_le; nra). rewrite pos_of_neg; [ring|nra].
    + replace (upper (t - m) - a * upper t) with (upper (t - m) + (- a) * upper (t - 0)) by (rewrite Rminus_0_r; ring).
      apply line_plus; [apply upper_line|]. apply line_scal, upper_line.
  - apply (line_ext (fun x => std (x - m) + (- a) * std (x - 0))).
    + intros x. rewrite Rminus_0_r. assert (D := std_ge0 x). assert (E := std_ge0 (x - m)). rewrite pos_of_pos; [ring|nra].
    + replace (1 - a) with (1 + (- a) * 1) by ring. apply line_plus; [apply std_line|]. apply line_scal, std_line. Qed.
Lemma stick_ge0 m a : 0 < m -> 0 <= stick m a.
Proof. intros Hm. apply (int_ge0 line _ _ (fun x => pos_ge0 _) (stick_int m a Hm)). Qed.
(* The best test for the smaller distance is only better for the larger one. *)
Theorem stick_mono v m a : 0 < v -> v <= m -> stick v a <= stick m a.
Proof. intros Hv Hm. assert (I := stick_int m a ltac:(lra)). destruct (Rlt_dec 0 a) as [Ha|Ha].
  - apply Rle_trans with (upper (cut v a - m) + (- a) * upper (cut v a - 0)).
    + unfold stick. destruct (Rlt_dec 0 a); [|lra]. rewrite Rminus_0_r.
      assert (K := upper_falls (cut v a - m) (cut v a - v) ltac:(lra)). lra.
    + refine (line_le _ _ _ _ _ (line_plus _ _ _ _ (upper_line (cut v a) m) (line_scal (- a) _ _ (upper_line (cut v a) 0))) I).
      intros x. cbv beta. rewrite Rminus_0_r. set (d := std (x - m) - a * std x). assert (X := pos_ge0 d).
      assert (Y : d <= pos d) by apply Rmax_r. unfold beyond. destruct (Rlt_dec (cut v a) x); unfold d in *; lra.
  - unfold stick. destruct (Rlt_dec 0 a); lra. Qed.
Lemma stick_zero m a : 0 < m -> pos (1 - a) <= stick m a.
Proof. intros Hm. apply Rmax_lub; [now apply stick_ge0|].
  assert (K : 1 + (- a) * 1 <= stick m a); [|lra].
  refine (line_le _ _ _ _ _ (line_plus _ _ _ _ (std_line m) (line_scal (- a) _ _ (std_line 0))) (stick_int m a Hm)).
  intros x. cbv beta. rewrite Rminus_0_r. unfold pos. assert (Y := Rmax_r 0 (std (x - m) - a * std x)). lra. Qed.

(* ---------- normal noise of scale sigma ---------- *)
Definition normal (sigma c x : R) := / sigma * std ((x - c) / sigma).
Lemma normal_ge0 sigma c x : 0 < sigma -> 0 <= normal sigma c x.
Proof. intros. apply Rmult_le_pos; [left; now apply Rinv_0_lt_compat|apply std_ge0]. Qed.
Lemma rescaled f sigma c v : 0 < sigma -> is_line f v -> is_line (fun x => / sigma * f ((x - c) / sigma)) v.
Proof. intros Hs I. assert (V := Rinv_0_lt_compat _ Hs).
  replace v with (/ sigma * (/ / sigma * v)) by (field; lra). apply line_scal.
  apply (line_ext (fun x => f (/ sigma * x + - c * / sigma))); [intros; f_equal; field; lra|].
  now apply line_affine. Qed.
Lemma normal_line sigma c : 0 < sigma -> is_line (normal sigma c) 1.
Proof. intros Hs. apply (rescaled std); auto. apply (line_ext (fun x => std (x - 0))); [intros; f_equal; ring|apply std_line]. Qed.
