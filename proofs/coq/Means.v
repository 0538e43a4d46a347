(* 15b. The means of which the end-to-end theorems speak exist.

   `expect` says that the mean of a test is an iterated Riemann integral.  Here it is proved that there is one for every
   test that is a continuous function of all outputs with values in [0, 1] on a box, and 0 outside: so for continuous
   tests (the box is everything) and for boxes (the function is 1).  A box is a product of intervals of any kind, open,
   closed, bounded or not, one for every coordinate of every output.  The queries must be continuous in the earlier
   outputs; otherwise Riemann's integral need not exist, and nothing is claimed.  `cont` is the definition by epsilon and
   delta; vectors are near if they are in every coordinate, lists if they are as long and near item by item.

   The one step that is not routine: int_cont, that the mean over one coordinate is continuous in whatever the integrand
   depends on.  On a bounded interval the integrands are uniformly near (uniform: a closed interval is compact), and
   beyond it there is little of the normal law, near or far, as all of it is 1. *)
From Coquelicot Require Import Coquelicot.
Require Import Reals List Lra Lia Bool Classical.
From VerifiedDP Require Import Law HockeyStick Checker Integral Normal Space SampledGaussian Mechanism Replace.
Import ListNotations.
Open Scope R_scope.

(* ---------- continuous functions ---------- *)
(* near e x y: the distance of x and y is less than e *)
Record nearness (T : Type) := {
  near : R -> T -> T -> Prop;
  near_self : forall e x, 0 < e -> near e x x;
  near_wider : forall d e x y, d <= e -> near d x y -> near e x y }.
Arguments near {T}. Arguments near_self {T}. Arguments near_wider {T}.
Definition cont {T U} (N : nearness T) (M : nearness U) (f : T -> U) :=
  forall x e, 0 < e -> exists d, 0 < d /\ forall y, near N d x y -> near M e (f x) (f y).

Definition near_R : nearness R.
Proof. refine {| near := fun e x y => Rabs (y - x) < e |}.
  - intros e x H. replace (x - x) with 0 by ring. now rewrite Rabs_R0.
  - intros; lra. Defined.
Definition near_pair {T U} (N : nearness T) (M : nearness U) : nearness (T * U).
Proof. refine {| near := fun e x y => near N e (fst x) (fst y) /\ near M e (snd x) (snd y) |}.
  - intros; split; now apply near_self.
  - intros d e x y H [A B]; split; eapply near_wider; eauto. Defined.
Definition near_unit : nearness unit.
Proof. refine {| near := fun _ _ _ => True |}; auto. Defined.
(* vectors: coordinate by coordinate; lists: of the same length, item by item *)
Fixpoint near_vec (d : nat) : nearness (vec d) :=
  match d with O => near_unit | Datatypes.S d => near_pair near_R (near_vec d) end.
Definition near_list {T} (N : nearness T) : nearness (list T).
Proof. refine {| near := fun e => Forall2 (near N e) |}.
  - intros e l H. induction l; constructor; auto. now apply near_self.
  - intros d e x y H A. induction A; constructor; auto. eapply near_wider; eauto. Defined.

Lemma cont_comp {T U V} (N : nearness T) (M : nearness U) (K : nearness V) f k : cont N M f -> cont M K k -> cont N K (fun x => k (f x)).
Proof. intros F G x e He. destruct (G (f x) e He) as [d [D0 D]]. destruct (F x d D0) as [c [C0 C]]. exists c; split; auto. Qed.
Lemma cont_two {T U V} (N : nearness T) (M : nearness U) (K : nearness V) f k : cont N M f -> cont N K k ->
  cont N (near_pair M K) (fun x => (f x, k x)).
Proof. intros F G x e He. destruct (F x e He) as [c [C0 C]]. destruct (G x e He) as [d [D0 D]]. exists (Rmin c d).
  split; [now apply Rmin_glb_lt|]. intros y Y. split; [apply C|apply D]; (eapply near_wider; [|exact Y]); [apply Rmin_l|apply Rmin_r]. Qed.
Lemma cont_id {T} (N : nearness T) : cont N N (fun x => x).
Proof. intros x e He. exists e; auto. Qed.
Lemma cont_fst {T U V} (N : nearness T) (M : nearness U) (K : nearness V) f : cont N (near_pair M K) f -> cont N M (fun x => fst (f x)).
Proof. intros F x e He. destruct (F x e He) as [d [D0 D]]. exists d; split; auto. intros y Y. now apply D. Qed.
Lemma cont_snd {T U V} (N : nearness T) (M : nearness U) (K : nearness V) f : cont N (near_pair M K) f -> cont N K (fun x => snd (f x)).
Proof. intros F x e He. destruct (F x e He) as [d [D0 D]]. exists d; split; auto. intros y Y. now apply D. Qed.
Lemma cont_const {T U} (N : nearness T) (M : nearness U) a : cont N M (fun _ => a).
Proof. intros x e He. exists 1; split; [lra|]. intros. now apply near_self. Qed.
Lemma cont_ext {T U} (N : nearness T) (M : nearness U) f k : (forall x, f x = k x) -> cont N M f -> cont N M k.
Proof. intros H F x e He. destruct (F x e He) as [d [D0 D]]. exists d; split; auto. intros y Y. rewrite <- !H. auto. Qed.
Section Reals.
Context {T : Type} (N : nearness T).
Lemma cont_plus f k : cont N near_R f -> cont N near_R k -> cont N near_R (fun x => f x + k x).
Proof. intros F G x e He. destruct (F x (e / 2)) as [c [C0 C]]; [lra|]. destruct (G x (e / 2)) as [d [D0 D]]; [lra|].
  exists (Rmin c d). split; [now apply Rmin_glb_lt|]. intros y Y. cbn in *.
  assert (A := C y (near_wider N _ _ _ _ (Rmin_l _ _) Y)). assert (B := D y (near_wider N _ _ _ _ (Rmin_r _ _) Y)).
  apply Rabs_lt_between in A. apply Rabs_lt_between in B. apply Rabs_lt_between. lra. Qed.
Lemma cont_lip f k L : 0 <= L -> (forall x y, Rabs (k y - k x) <= L * Rabs (y - x)) -> cont N near_R f -> cont N near_R (fun x => k (f x)).
Proof. intros H HK F. apply (cont_comp N near_R near_R f k F). intros x e He. exists (e / (L + 1)).
  split; [apply Rdiv_lt_0_compat; lra|]. intros y Y. cbn in *. eapply Rle_lt_trans; [apply HK|]. assert (A := Rabs_pos (y - x)).
  apply Rle_lt_trans with ((L + 1) * Rabs (y - x)); [nra|]. apply Rmult_lt_reg_r with (/ (L + 1)); [apply Rinv_0_lt_compat; lra|].
  replace ((L + 1) * Rabs (y - x) * / (L + 1)) with (Rabs (y - x)) by (field; lra). exact Y. Qed.
Lemma cont_scal c f : cont N near_R f -> cont N near_R (fun x => c * f x).
Proof. apply (cont_lip f (fun x => c * x) (Rabs c)); [apply Rabs_pos|]. intros x y.
  replace (c * y - c * x) with (c * (y - x)) by ring. rewrite Rabs_mult. lra. Qed.
Lemma cont_mult f k : cont N near_R f -> cont N near_R k -> cont N near_R (fun x => f x * k x).
Proof. intros F G x e He. assert (A0 := Rabs_pos (f x)). assert (B0 := Rabs_pos (k x)).
  destruct (F x (Rmin 1 (e / 3 / (Rabs (k x) + 1)))) as [c [C0 C]]; [apply Rmin_glb_lt; [lra|apply Rdiv_lt_0_compat; lra]|].
  destruct (G x (Rmin 1 (e / 3 / (Rabs (f x) + 1)))) as [d [D0 D]]; [apply Rmin_glb_lt; [lra|apply Rdiv_lt_0_compat; lra]|].
  exists (Rmin c d). split; [now apply Rmin_glb_lt|]. intros y Y. cbn in *.
  assert (A := C y (near_wider N _ _ _ _ (Rmin_l _ _) Y)). assert (B := D y (near_wider N _ _ _ _ (Rmin_r _ _) Y)).
  assert (A1 := Rlt_le_trans _ _ _ A (Rmin_l _ _)). apply (fun H => Rlt_le_trans _ _ _ H (Rmin_r _ _)) in A.
  assert (B1 := Rlt_le_trans _ _ _ B (Rmin_l _ _)). apply (fun H => Rlt_le_trans _ _ _ H (Rmin_r _ _)) in B.
  set (u := f y - f x) in *. set (v := k y - k x) in *.
  replace (f y * k y - f x * k x) with (u * k x + (f x * v + u * v)) by (unfold u, v; ring).
  eapply Rle_lt_trans; [apply Rabs_triang|]. apply Rle_lt_trans with (Rabs u * Rabs (k x) + (Rabs (f x) + 1) * Rabs v).
  - rewrite Rabs_mult. apply Rplus_le_compat_l. eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult.
    assert (V := Rabs_pos v). assert (U := Rabs_pos u). nra.
  - assert (P1 : Rabs u * (Rabs (k x) + 1) < e / 3).
    { apply Rmult_lt_reg_r with (/ (Rabs (k x) + 1)); [apply Rinv_0_lt_compat; lra|]. rewrite Rmult_assoc, Rinv_r by lra. unfold Rdiv in A. lra. }
    assert (P2 : Rabs v * (Rabs (f x) + 1) < e / 3).
    { apply Rmult_lt_reg_r with (/ (Rabs (f x) + 1)); [apply Rinv_0_lt_compat; lra|]. rewrite Rmult_assoc, Rinv_r by lra. unfold Rdiv in B. lra. }
    assert (U := Rabs_pos u). nra. Qed.
Lemma cont_sum {V} (F : V -> T -> R) l : (forall b, cont N near_R (F b)) -> cont N near_R (fun x => S (fun b => F b x) l).
Proof. intros H. induction l as [|b l IH]; cbn [S]; [apply cont_const|]. now apply cont_plus. Qed.
(* the normal density, in the place and the centre *)
Lemma cont_normal sigma f k : 0 < sigma -> cont N near_R f -> cont N near_R k -> cont N near_R (fun x => normal sigma (f x) (k x)).
Proof. intros Hs F G. unfold normal. apply cont_scal. apply (cont_lip (fun x => (k x - f x) / sigma) std top); [left; apply top_pos|apply std_near|].
  apply (cont_ext N near_R (fun x => / sigma * (k x + -1 * f x))); [intros; field; lra|].
  apply cont_scal, cont_plus; auto. now apply cont_scal. Qed.
End Reals.
Lemma cont_continuous f : cont near_R near_R f -> forall x, continuous f x.
Proof. intros F x. apply continuity_pt_filterlim. intros e He. destruct (F x e He) as [d [D0 D]]. exists d. split; [exact D0|].
  intros y [_ Y]. apply D. exact Y. Qed.

(* Near a point, a continuous function is near on all of a closed interval. *)
Lemma uniform {T} (N : nearness T) (H : T * R -> R) z M e : cont (near_pair N near_R) near_R H -> 0 < e -> 0 <= M ->
  exists d, 0 < d /\ forall z' x, near N d z z' -> - M <= x <= M -> Rabs (H (z', x) - H (z, x)) < e.
Proof. intros C He HM.
  set (good := fun t => - M <= t <= M /\ exists d, 0 < d /\ forall z' x, near N d z z' -> - M <= x <= t -> Rabs (H (z', x) - H (z, x)) < e).
  assert (L : forall x, exists d, 0 < d /\ forall z' y, near N d z z' -> Rabs (y - x) < d -> Rabs (H (z', y) - H (z, y)) < e).
  { intros x. destruct (C (z, x) (e / 2)) as [d [D0 D]]; [lra|]. exists d; split; auto. intros z' y Z Y.
    assert (A := D (z', y) (conj Z Y)). assert (B := D (z, y) (conj (near_self N d z D0) Y)). cbn in A, B.
    apply Rabs_lt_between in A. apply Rabs_lt_between in B. apply Rabs_lt_between. lra. }
  assert (G0 : good (- M)).
  { split; [lra|]. destruct (L (- M)) as [d [D0 D]]. exists d; split; auto. intros z' x Z X. apply D; auto.
    replace (x - - M) with 0 by lra. now rewrite Rabs_R0. }
  destruct (completeness good) as [t [T1 T2]]; [exists M; intros x [X _]; lra|now exists (- M)|].
  assert (TM : - M <= t <= M) by (split; [now apply T1|apply T2; intros x [X _]; lra]).
  destruct (L t) as [d [D0 D]].
  assert (K : exists s, good s /\ t - d < s).
  { apply NNPP. intros K. assert (t <= t - d); [|lra]. apply T2. intros s Gs. apply Rnot_lt_le. intros Q. apply K. now exists s. }
  destruct K as [s [[Hs [c [C0 Cs]]] Q]]. set (r := Rmin M (t + d / 2)). assert (R1 : r <= M) by apply Rmin_l. assert (R2 : r <= t + d / 2) by apply Rmin_r.
  assert (Gr : good r).
  { split; [split; auto; apply Rmin_glb; lra|]. exists (Rmin c d). split; [now apply Rmin_glb_lt|]. intros z' x Z X.
    destruct (Rle_dec x s) as [S|S].
    - apply Cs; [|lra]. eapply near_wider; [|exact Z]. apply Rmin_l.
    - apply D; [eapply near_wider; [|exact Z]; apply Rmin_r|]. apply Rabs_lt_between. lra. }
  assert (r = M).
  { assert (r <= t) by now apply T1. unfold r in *. destruct (Rle_dec M (t + d / 2)); [now apply Rmin_left|]. rewrite Rmin_right in * by lra. lra. }
  rewrite H0 in Gr. exact (proj2 Gr). Qed.

(* ---------- intervals ---------- *)
(* The indicator of an interval of any kind: the empty one, the line, open, closed, half a line. *)
Definition interval (s : R -> R) := (forall x, s x = 0 \/ s x = 1) /\ forall x y z, x <= y <= z -> s x = 1 -> s z = 1 -> s y = 1.
Lemma interval_range s x : interval s -> 0 <= s x <= 1.
Proof. intros [H _]. destruct (H x); lra. Qed.
Lemma interval_line : interval (fun _ => 1).
Proof. split; auto. Qed.
Lemma interval_closed a b : interval (fun x => if Rle_dec a x then if Rle_dec x b then 1 else 0 else 0).
Proof. split; intros; repeat destruct (Rle_dec _ _); auto; lra. Qed.
(* An interval's indicator is constant before, in and after it: times what has an integral it has one. *)
Lemma piece (s f : R -> R) c a b : (forall a b, ex_RInt f a b) -> a <= b -> (forall x, a < x < b -> s x = c) -> ex_RInt (fun x => s x * f x) a b.
Proof. intros X H S. apply (ex_RInt_ext (fun x => c * f x)); [|now apply (ex_RInt_scal f)]. intros x. rewrite Rmin_left, Rmax_right by auto.
  intros Y. now rewrite S. Qed.
Lemma interval_int s f : interval s -> (forall a b, ex_RInt f a b) -> forall a b, ex_RInt (fun x => s x * f x) a b.
Proof. intros [S0 S1] X.
  assert (K : forall a b, a <= b -> ex_RInt (fun x => s x * f x) a b).
  { intros a b H. destruct (classic (exists x, a <= x <= b /\ s x = 1)) as [[o [O1 O2]]|NO].
    2:{ apply (piece s f 0); auto. intros x Y. destruct (S0 x); auto. exfalso. apply NO. exists x; lra. }
    assert (U : exists u, o <= u <= b /\ (forall x, o < x < u -> s x = 1) /\ forall x, u < x < b -> s x = 0).
    { set (E := fun x => o <= x <= b /\ s x = 1). destruct (completeness E) as [u [U1 U2]];
        [exists b; intros x [Y _]; lra|exists o; split; auto; lra|].
      assert (OU : o <= u) by (apply U1; split; auto; lra). assert (UB : u <= b) by (apply U2; intros x [Y _]; lra).
      exists u. split; [lra|]. split.
      - intros x Y. destruct (S0 x) as [Z|Z]; auto. exfalso. assert (u <= x); [|lra]. apply U2. intros y [Y1 Y2].
        apply Rnot_lt_le. intros L. assert (s x = 1) by (apply (S1 o x y); auto; lra). lra.
      - intros x Y. destruct (S0 x) as [Z|Z]; auto. exfalso. assert (x <= u); [|lra]. apply U1. split; auto; lra. }
    assert (V : exists v, a <= v <= o /\ (forall x, v < x < o -> s x = 1) /\ forall x, a < x < v -> s x = 0).
    { set (E := fun x => a <= - x <= o /\ s (- x) = 1). destruct (completeness E) as [u [U1 U2]];
        [exists (- a); intros x [Y _]; lra|exists (- o); split; rewrite Ropp_involutive; auto; lra|].
      assert (OU : - o <= u) by (apply U1; split; rewrite Ropp_involutive; auto; lra).
      assert (UB : u <= - a) by (apply U2; intros x [Y _]; lra). exists (- u). split; [lra|]. split.
      - intros x Y. destruct (S0 x) as [Z|Z]; auto. exfalso. assert (u <= - x); [|lra]. apply U2. intros y [Y1 Y2].
        apply Rnot_lt_le. intros L. assert (s x = 1) by (apply (S1 (- y) x o); auto; lra). lra.
      - intros x Y. destruct (S0 x) as [Z|Z]; auto. exfalso. assert (- x <= u); [|lra]. apply U1. split; rewrite Ropp_involutive; auto; lra. }
    destruct U as [u [U0 [U1 U2]]]. destruct V as [v [V0 [V1 V2]]].
    apply (ex_RInt_Chasles (fun x => s x * f x) a v b); [apply (piece s f 0); auto; lra|].
    apply (ex_RInt_Chasles (fun x => s x * f x) v o b); [apply (piece s f 1); auto; lra|].
    apply (ex_RInt_Chasles (fun x => s x * f x) o u b); [apply (piece s f 1); auto; lra|apply (piece s f 0); auto; lra]. }
  intros a b. destruct (Rle_dec a b); [now apply K|apply ex_RInt_swap, K; lra]. Qed.

(* ---------- one coordinate ---------- *)
Lemma line_inside f v a b : (forall x, 0 <= f x) -> is_line f v -> a <= b -> RInt f a b <= v.
Proof. intros F [X L] H. apply close_unique. intros e He. destruct (L e He) as [M [M0 HM]].
  specialize (HM (Rmin a (- M)) (Rmax b M) (Rmin_r _ _) (Rmax_r _ _)).
  assert (K := wider f a b (Rmin a (- M)) (Rmax b M) X F ltac:(split; [apply Rmin_l|auto]) (Rmax_l _ _)).
  apply Rabs_le_between in HM. lra. Qed.
Section Coordinate.
(* a density p z of the output, for every z *)
Context {T : Type} (N : nearness T) (p : T -> R -> R) (s : R -> R) (G : T * R -> R).
Hypothesis p_ge0 : forall z x, 0 <= p z x.
Hypothesis p_line : forall z, is_line (p z) 1.
Hypothesis p_cont : cont (near_pair N near_R) near_R (fun zx => p (fst zx) (snd zx)).
Hypothesis HI : interval s.
Hypothesis HG : cont (near_pair N near_R) near_R G.
Hypothesis G01 : forall z, 0 <= G z <= 1.
Let f z x := p z x * (s x * G (z, x)).
Lemma fixed_cont H z : cont (near_pair N near_R) near_R H -> cont near_R near_R (fun x => H (z, x)).
Proof. intros C. apply (cont_comp near_R (near_pair N near_R) near_R (fun x => (z, x)) H); auto. apply cont_two; [apply cont_const|apply cont_id]. Qed.
Lemma p_ex z a b : ex_RInt (p z) a b.
Proof. apply (p_line z). Qed.
Lemma f_range z x : 0 <= f z x <= p z x.
Proof. unfold f. assert (A := p_ge0 z x). assert (B := interval_range s x HI). assert (C := G01 (z, x)).
  assert (0 <= s x * G (z, x) <= 1) by (split; nra). split; nra. Qed.
Lemma f_ex z a b : ex_RInt (f z) a b.
Proof. apply (ex_RInt_ext (fun x => s x * (p z x * G (z, x)))); [intros x _; change (s x * (p z x * G (z, x)) = p z x * (s x * G (z, x))); ring|]. apply interval_int; auto.
  intros a' b'. apply (ex_RInt_continuous (fun x => p z x * G (z, x))). intros x _. apply cont_continuous.
  apply (fixed_cont (fun zx => p (fst zx) (snd zx) * G zx) z), cont_mult; auto. Qed.
Definition coordinate z := line_value (f z).
Lemma coordinate_int z : is_line (f z) (coordinate z).
Proof. destruct (dominated_int (f z) (p z) 1) as [v V]; [lra|apply f_ex|intros x; rewrite Rmult_1_l; apply f_range|apply p_ge0|apply p_line|].
  unfold coordinate. now rewrite (line_lim _ _ V). Qed.
Lemma coordinate_range z : 0 <= coordinate z <= 1.
Proof. split; [apply (int_ge0 line (f z)); [intros; apply f_range|apply coordinate_int]|].
  apply (line_le (f z) (p z)); [intros; apply f_range|apply coordinate_int|apply p_line]. Qed.
(* What is beyond an interval is at most the mass there. *)
Lemma coordinate_tail z M : 0 <= M -> RInt (f z) (- M) M <= coordinate z <= RInt (f z) (- M) M + (1 - RInt (p z) (- M) M).
Proof. intros H. split; [apply line_inside; [intros; apply f_range|apply coordinate_int|lra]|].
  assert (I : is_line (fun x => p z x - f z x) (1 - coordinate z)) by (apply (int_minus line (p z)); [apply p_line|apply coordinate_int]).
  assert (P : forall x, 0 <= p z x - f z x) by (intros x; assert (R := f_range z x); lra).
  assert (K := line_inside _ _ (- M) M P I ltac:(lra)).
  assert (E : RInt (fun x => p z x - f z x) (- M) M = RInt (p z) (- M) M - RInt (f z) (- M) M) by (apply (RInt_minus (p z)); [apply p_ex|apply f_ex]).
  rewrite E in K. lra. Qed.
Lemma near_int u v M e : 0 <= M -> (forall a b, ex_RInt u a b) -> (forall a b, ex_RInt v a b) ->
  (forall x, - M <= x <= M -> Rabs (u x - v x) <= e) -> Rabs (RInt u (- M) M - RInt v (- M) M) <= 2 * M * e.
Proof. intros H U V K. assert (E : RInt (fun x => u x - v x) (- M) M = RInt u (- M) M - RInt v (- M) M) by (apply (RInt_minus u); auto).
  rewrite <- E. replace (2 * M * e) with ((M - - M) * e) by ring.
  apply (norm_RInt_le_const (fun x => u x - v x)); [lra|exact K|]. apply (RInt_correct (fun x => u x - v x)). apply (ex_RInt_minus u); auto. Qed.
Theorem coordinate_cont : cont N near_R coordinate.
Proof. intros z e He. destruct (proj2 (p_line z) (e / 8)) as [M [M0 HM]]; [lra|].
  specialize (HM (- M) M (Rle_refl _) (Rle_refl _)). set (c := e / 8 / (2 * M + 1)).
  assert (C0 : 0 < c) by (apply Rdiv_lt_0_compat; lra). assert (CM : 2 * M * c <= e / 8).
  { unfold c. apply Rmult_le_reg_r with (2 * M + 1); [lra|]. field_simplify; [|lra]. nra. }
  destruct (uniform N (fun zx => p (fst zx) (snd zx)) z M c p_cont C0 M0) as [d1 [D1 E1]].
  destruct (uniform N (fun zx => p (fst zx) (snd zx) * G zx) z M c (cont_mult _ _ _ p_cont HG) C0 M0) as [d2 [D2 E2]].
  exists (Rmin d1 d2). split; [now apply Rmin_glb_lt|]. intros y Y. cbn [near near_R].
  assert (Y1 := near_wider N _ _ _ _ (Rmin_l _ _) Y). assert (Y2 := near_wider N _ _ _ _ (Rmin_r _ _) Y).
  assert (A : Rabs (RInt (p y) (- M) M - RInt (p z) (- M) M) <= 2 * M * c).
  { apply near_int; auto using p_ex. intros x X. left. exact (E1 y x Y1 X). }
  assert (B : Rabs (RInt (f y) (- M) M - RInt (f z) (- M) M) <= 2 * M * c).
  { apply near_int; auto using f_ex. intros x X. unfold f. specialize (E2 y x Y2 X). cbn [fst snd] in E2.
    replace (p y x * (s x * G (y, x)) - p z x * (s x * G (z, x))) with (s x * (p y x * G (y, x) - p z x * G (z, x))) by ring.
    rewrite Rabs_mult. assert (SR := interval_range s x HI). rewrite (Rabs_pos_eq (s x)) by lra. assert (Q := Rabs_pos (p y x * G (y, x) - p z x * G (z, x))).
    apply Rle_trans with (1 * Rabs (p y x * G (y, x) - p z x * G (z, x))); [apply Rmult_le_compat_r|]; lra. }
  assert (TY := coordinate_tail y M M0). assert (TZ := coordinate_tail z M M0).
  apply Rabs_le_between in HM. apply Rabs_le_between in A. apply Rabs_le_between in B. apply Rabs_lt_between. lra. Qed.
End Coordinate.

(* ---------- one output, a vector ---------- *)
(* a box: an interval for every coordinate *)
Notation sides := (@tup (R -> R)).
Fixpoint is_box {d} : sides d -> Prop :=
  match d with O => fun _ => True | Datatypes.S d => fun b => interval (fst b) /\ is_box (snd b) end.
Fixpoint inside {d} : sides d -> vec d -> R :=
  match d with O => fun _ _ => 1 | Datatypes.S d => fun b y => fst b (fst y) * inside (snd b) (snd y) end.
Fixpoint everything d : sides d := match d with O => tt | Datatypes.S d => (fun _ => 1, everything d) end.
Lemma everything_box d : is_box (everything d).
Proof. induction d; simpl; auto using interval_line. Qed.
Lemma everything_inside d (y : vec d) : inside (everything d) y = 1.
Proof. induction d as [|d IH]; simpl; auto. rewrite IH; ring. Qed.
(* The mean over one output exists and is continuous in whatever the centre and the function depend on. *)
Theorem int_cont d : forall {T} (N : nearness T) sigma (c : T -> vec d) (b : sides d) (G : T * vec d -> R), 0 < sigma ->
  cont N (near_vec d) c -> is_box b -> cont (near_pair N (near_vec d)) near_R G -> (forall z, 0 <= G z <= 1) ->
  exists F, cont N near_R F /\ (forall z, 0 <= F z <= 1) /\
    forall z, is_int (space d) (fun y => normals sigma (c z) y * (inside b y * G (z, y))) (F z).
Proof. induction d as [|d IH]; intros T N sigma c b G Hs HC HB HG G01.
  - exists (fun z => G (z, tt)). repeat split; try apply G01.
    + apply (cont_comp N (near_pair N near_unit) near_R (fun z => (z, tt)) G); [|exact HG]. apply cont_two; [apply cont_id|apply (cont_const N near_unit tt)].
    + intros z. cbn. ring.
  - destruct HB as [B1 B2]. set (N' := near_pair N near_R).
    assert (C1 : cont N near_R (fun z => fst (c z))) by (apply cont_fst with (K := near_vec d); exact HC).
    assert (C2 : cont N' (near_vec d) (fun zx => snd (c (fst zx)))).
    { apply (cont_comp N' N (near_vec d) fst (fun z => snd (c z))); [apply cont_fst with (K := near_R), cont_id|].
      apply cont_snd with (M := near_R). exact HC. }
    destruct (IH (T * R)%type N' sigma (fun zx => snd (c (fst zx))) (snd b) (fun a => G (fst (fst a), (snd (fst a), snd a))) Hs C2 B2) as [F [F0 [F1 F2]]].
    + apply (cont_comp _ (near_pair N (near_pair near_R (near_vec d))) _ (fun a : (T * R) * vec d => (fst (fst a), (snd (fst a), snd a))) G); [|exact HG].
      assert (A : cont (near_pair N' (near_vec d)) N' fst) by (apply cont_fst with (K := near_vec d), cont_id).
      apply cont_two; [now apply cont_fst with (K := near_R)|]. apply cont_two; [now apply cont_snd with (M := N)|].
      apply cont_snd with (M := N'), cont_id.
    + intros z. apply G01.
    + set (p := fun z x => normal sigma (fst (c z)) x). assert (PC : cont N' near_R (fun zx => p (fst zx) (snd zx))).
      { apply cont_normal; auto; [|apply cont_snd with (M := N), cont_id].
        apply (cont_comp _ N near_R fst (fun z => fst (c z))); auto. apply cont_fst with (K := near_R), cont_id. }
      assert (PG : forall z x, 0 <= p z x) by (intros; now apply normal_ge0). assert (PL : forall z, is_line (p z) 1) by (intros; now apply normal_line).
      exists (coordinate p (fst b) F). split; [now apply coordinate_cont|]. split; [intros; now apply (coordinate_range N)|].
      intros z. exists (fun x => p z x * (fst b x * F (z, x))). split; [|exact (coordinate_int N p (fst b) F PG PL PC B1 F0 F1 z)].
      intros x. assert (K := int_scal (space d) (p z x * fst b x) _ _ (F2 (z, x))). cbn [fst snd] in K.
      rewrite <- Rmult_assoc. eapply int_ext; [|exact K]. intros y.
      assert (R4 : forall a b n i v : R, a * b * (n * (i * v)) = a * n * (b * i * v)) by (intros; ring). apply R4. Qed.

(* ---------- all outputs ---------- *)
Section Steps.
Context {X : Type} {d : nat} (query : list (vec d) -> X -> vec d) (M : list (vec d) -> vec d -> R).
Let N := near_list (near_vec d).
Hypothesis query_cont : forall z, cont N (near_vec d) (fun h => query h z).
(* The output after n others: the query on a random batch, of finitely many, and normal noise. *)
Definition noisy (n : nat) := exists sigma (bs : list (list X * R)), 0 < sigma /\ Forall (fun b => 0 <= snd b) bs /\ S snd bs = 1 /\
  forall h y, length h = n -> M h y = S (fun b => snd b * normals sigma (total (query h) (fst b)) y) bs.
Lemma cont_plus_vec {T} (K : nearness T) m : forall f k : T -> vec m, cont K (near_vec m) f -> cont K (near_vec m) k ->
  cont K (near_vec m) (fun x => plus_vec (f x) (k x)).
Proof. induction m as [|m IH]; intros f k F G; [apply (cont_const K near_unit tt)|]. cbn [plus_vec near_vec]. apply cont_two.
  - apply cont_plus; apply cont_fst with (K := near_vec m); assumption.
  - apply IH; apply cont_snd with (M := near_R); assumption. Qed.
Lemma total_cont batch : cont N (near_vec d) (fun h => total (query h) batch).
Proof. induction batch as [|z batch IH]; cbn [total]; [apply cont_const|]. now apply cont_plus_vec. Qed.
Lemma cons_cont : cont (near_pair N (near_vec d)) N (fun a => snd a :: fst a).
Proof. intros x e He. exists e; split; auto. intros y [A B]. cbn. constructor; auto. Qed.
Lemma batches_mean sigma b F (bs : list (list X * R)) : 0 < sigma -> is_box b -> cont N near_R F -> (forall h, 0 <= F h <= 1) ->
  Forall (fun b => 0 <= snd b) bs -> exists F', cont N near_R F' /\ (forall h, 0 <= F' h <= S snd bs) /\
  forall h, is_int (space d) (fun y => S (fun b => snd b * normals sigma (total (query h) (fst b)) y) bs * (inside b y * F (y :: h))) (F' h).
Proof. intros Hs HB F0 F1 H. induction H as [|[batch w] bs W H [F' [A0 [A1 A2]]]]; cbn [S fst snd] in *.
  - exists (fun _ => 0). split; [apply cont_const|]. split; [intros; lra|]. intros h.
    apply (int_ext (space d) (fun _ => 0)); [intros; ring|apply int_zero].
  - destruct (int_cont d N sigma (fun h => total (query h) batch) b (fun a => F (snd a :: fst a)) Hs (total_cont batch) HB) as [E [E0 [E1 E2]]].
    + exact (cont_comp _ N near_R (fun a => snd a :: fst a) F cons_cont F0).
    + intros; apply F1.
    + exists (fun h => w * E h + F' h). split; [now apply cont_plus; [apply cont_scal|]|]. split; [intros h; specialize (E1 h); specialize (A1 h); nra|].
      intros h. eapply int_ext; [|apply int_plus; [apply int_scal; apply (E2 h)|apply (A2 h)]]. intros y. cbn [fst snd]. ring. Qed.
(* Test: a continuous function of the outputs, on a box. `boxes i` is that of the output after i others. *)
Fixpoint within (boxes : nat -> sides d) (h : list (vec d)) : R :=
  match h with [] => 1 | y :: h => inside (boxes (length h)) y * within boxes h end.
Variables (boxes : nat -> sides d) (phi : list (vec d) -> R).
Hypothesis HB : forall i, is_box (boxes i).
Hypothesis HP : cont N near_R phi.
Hypothesis phi01 : forall h, 0 <= phi h <= 1.
Lemma means k : forall n, (forall i, (n <= i < n + k)%nat -> noisy i) -> exists F, cont N near_R F /\ (forall h, 0 <= F h <= 1) /\
  forall h, length h = n -> expect (space d) M (fun h => within boxes h * phi h) k h (within boxes h * F h).
Proof. induction k as [|k IH]; intros n HM.
  - exists phi. repeat split; auto; apply phi01.
  - destruct (IH (Datatypes.S n)) as [F [F0 [F1 F2]]]; [intros; apply HM; lia|].
    destruct (HM n ltac:(lia)) as [sigma [bs [Hs [W [S1 E]]]]].
    destruct (batches_mean sigma (boxes n) F bs Hs (HB n) F0 F1 W) as [F' [A0 [A1 A2]]]. rewrite S1 in A1. exists F'. split; [auto|split; [auto|]].
    intros h L. exists (fun y => within boxes (y :: h) * F (y :: h)). split; [intros y; apply F2; cbn [length]; lia|].
    eapply int_ext; [|apply int_scal; apply (A2 h)]. intros y. cbn [within]. rewrite E, L by auto. ring. Qed.
Theorem expect_exists k : (forall i, (i < k)%nat -> noisy i) ->
  exists u, 0 <= u <= 1 /\ expect (space d) M (fun h => within boxes h * phi h) k [] u.
Proof. intros H. destruct (means k 0 ltac:(intros; apply H; lia)) as [F [_ [F1 F2]]]. exists (1 * F []). split; [rewrite Rmult_1_l; apply F1|].
  exact (F2 [] eq_refl). Qed.
End Steps.
Lemma expect_test_ext {T} (A : integral T) M (t t' : list T -> R) k : (forall h, t h = t' h) -> forall h v, expect A M t k h v -> expect A M t' k h v.
Proof. intros H. induction k as [|k IH]; intros h v E; cbn [expect] in *; [now rewrite <- H|]. destruct E as [F [F1 F2]]. exists F; auto. Qed.
Section Both.
Context {X : Type} {d : nat} (query : list (vec d) -> X -> vec d) (M : list (vec d) -> vec d -> R).
Hypothesis query_cont : forall z, cont (near_list (near_vec d)) (near_vec d) (fun h => query h z).
(* The two kinds of tests by themselves. *)
Corollary expect_continuous phi k : cont (near_list (near_vec d)) near_R phi -> (forall h, 0 <= phi h <= 1) ->
  (forall i, (i < k)%nat -> noisy query M i) -> exists u, expect (space d) M phi k [] u.
Proof. intros HP P01 H. destruct (expect_exists query M query_cont (fun _ => everything d) phi (fun _ => everything_box d) HP P01 k H) as [u [_ E]].
  exists u. revert E. apply expect_test_ext. intros h. replace (within (fun _ => everything d) h) with 1; [ring|].
  induction h as [|y h IH]; cbn [within]; [auto|]. rewrite <- IH, everything_inside. ring. Qed.
Corollary expect_box boxes k : (forall i, is_box (boxes i)) -> (forall i, (i < k)%nat -> noisy query M i) ->
  exists u, expect (space d) M (within boxes) k [] u.
Proof. intros HB H. destruct (expect_exists query M query_cont boxes (fun _ => 1) HB (cont_const _ _ 1) ltac:(intros; lra) k H) as [u [_ E]].
  exists u. revert E. apply expect_test_ext. intros h. ring. Qed.
End Both.

(* ---------- the mechanisms of the end-to-end theorems ---------- *)
Lemma sampled_noisy {X d} (query : list (vec d) -> X -> vec d) M q sigma D n : 0 < q <= 1 -> 0 < sigma ->
  (forall h y, length h = n -> M h y = sampled q (fun batch => normals sigma (total (query h) batch)) D y) -> noisy query M n.
Proof. intros Hq Hs H. exists sigma, (batches q D). split; [auto|]. split; [now apply batches_ge0|]. split; [apply batches_tot|exact H]. Qed.
Lemma dp_sgd_noisy {X d} (gradient : list (vec d) -> X -> vec d) q sigma D n : 0 < q <= 1 -> 0 < sigma -> noisy gradient (dp_sgd gradient q sigma D) n.
Proof. intros Hq Hs. apply (sampled_noisy gradient _ q sigma D); auto. Qed.
Lemma mechanism_noisy {X d} (query : list (vec d) -> X -> vec d) plans D n : Forall (fun a => 0 < rate a <= 1 /\ 0 < noise a) plans ->
  (n < length plans)%nat -> noisy query (mechanism plans query D) n.
Proof. intros H L. destruct (nth_error plans n) as [a|] eqn:E; [|apply nth_error_None in E; lia].
  rewrite Forall_forall in H. destruct (H a (nth_error_In _ _ E)) as [Hq Hs]. apply (sampled_noisy query _ (rate a) (noise a) D); auto.
  intros h y <-. unfold mechanism. now rewrite E. Qed.
Lemma batch_noisy {X d} (query : list (vec d) -> X -> vec d) plans D n : Forall (fun a => (batch_size a <= length D)%nat /\ 0 < batch_noise a) plans ->
  (n < length plans)%nat -> noisy query (batch_mechanism plans query D) n.
Proof. intros H L. destruct (nth_error plans n) as [a|] eqn:E; [|apply nth_error_None in E; lia].
  rewrite Forall_forall in H. destruct (H a (nth_error_In _ _ E)) as [Hm Hs]. assert (K := subsets_some D (batch_size a) Hm). apply lt_0_INR in K. set (w := / INR (length (subsets (batch_size a) D))).
  assert (W0 : 0 < w) by (now apply Rinv_0_lt_compat). exists (batch_noise a), (map (fun b => (b, w)) (subsets (batch_size a) D)). split; [auto|split; [|split]].
  - rewrite Forall_map. apply Forall_forall. intros b _. cbn. lra.
  - rewrite S_map. cbn [snd]. rewrite (S_ext _ (fun _ => w * 1)) by (intros; ring). rewrite S_scal, S_ones. unfold w. field. lra.
  - intros h y <-. unfold batch_mechanism. rewrite E, S_map. cbn [fst snd]. unfold fixed. fold w. now rewrite <- S_scal. Qed.
Lemma gaussian_noisy {X d} (query : list (vec d) -> X -> vec d) noises D n : Forall (Rlt 0) noises ->
  noisy query (fun h => normals (nth (length h) noises 1) (total (query h) D)) n.
Proof. intros H. exists (nth n noises 1), [(D, 1)]. split.
  - destruct (nth_in_or_default n noises 1) as [I|E]; [rewrite Forall_forall in H; auto|rewrite E; lra].
  - split; [repeat constructor; cbn; lra|]. split; [cbn; ring|]. intros h y <-. cbn. ring. Qed.

(* dp_sgd_private without the hypothesis `expect`. *)
Theorem dp_sgd_private_exists {X d} (gradient : list (vec d) -> X -> vec d) (T : positive) q sigma eps delta p g p' g' :
  (forall h z, norm (gradient h z) <= 1) -> (forall z, cont (near_list (near_vec d)) (near_vec d) (fun h => gradient h z)) ->
  0 < q <= 1 -> 0 < sigma -> decides T q sigma eps delta Remove p g -> decides T q sigma eps delta Add p' g' ->
  forall x D boxes phi, (forall i, is_box (boxes i)) -> cont (near_list (near_vec d)) near_R phi -> (forall h, 0 <= phi h <= 1) ->
  let test h := within boxes h * phi h in exists u v,
  expect (space d) (dp_sgd gradient q sigma (x :: D)) test (Pos.to_nat T) [] u /\
  expect (space d) (dp_sgd gradient q sigma D) test (Pos.to_nat T) [] v /\ u <= exp eps * v + delta /\ v <= exp eps * u + delta.
Proof. intros HN HG Hq Hs HR HA x D boxes phi HB HP P01 test.
  assert (E : forall D, exists u, 0 <= u <= 1 /\ expect (space d) (dp_sgd gradient q sigma D) test (Pos.to_nat T) [] u).
  { intros D'. apply (expect_exists gradient); auto. intros i _. now apply dp_sgd_noisy. }
  destruct (E (x :: D)) as [u [_ U]]. destruct (E D) as [v [_ V]]. exists u, v. split; [exact U|]. split; [exact V|].
  apply (dp_sgd_private gradient T q sigma eps delta HN p g p' g' HR HA x D test u v); auto.
  assert (W : forall h, 0 <= within boxes h <= 1).
  { assert (I : forall m (b : sides m) y, is_box b -> 0 <= inside b y <= 1).
    { induction m as [|m IH]; intros b y B; cbn [inside]; [lra|]. destruct B as [B1 B2].
      assert (A := interval_range _ (fst y) B1). assert (C := IH _ (snd y) B2). nra. }
    induction h as [|y h IH]; cbn [within]; [lra|]. assert (A := I _ _ y (HB (length h))). nra. }
  intros h. unfold test. specialize (W h). specialize (P01 h). nra. Qed.
