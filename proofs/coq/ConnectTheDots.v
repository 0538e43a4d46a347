(* 4a. Onto a grid.

   A hockey-stick curve is convex in alpha = e^eps, so its chords lie above it (HSa_chord2).  Equivalently: an atom
   may be split onto the two neighbouring grid losses with its P-mass and its Q-mass kept; the law that results
   dominates the old one (dom_dots), also after composition (dots_kfold), and is exact at grid points
   (split_exact). *)
Require Import Reals List Lra ZArith.
From Flocq Require Import Core.Raux.
From VerifiedDP Require Import Law HockeyStick.
Import ListNotations.
Open Scope R_scope.

(* w as a function of u = exp(-loss) *)
Definition wu (e u : R) := pos (1 - e * u).
Lemma w_wu eps z : w eps z = wu (exp eps) (exp (- z)).
Proof. unfold w, wu. rewrite <- exp_plus. reflexivity. Qed.
Lemma pos_convex t x y : 0 <= t <= 1 -> pos (t * x + (1 - t) * y) <= t * pos x + (1 - t) * pos y.
Proof. intros Ht. unfold pos. assert (Hx := Rmax_l 0 x). assert (Hy := Rmax_l 0 y).
  assert (Gx := Rmax_r 0 x). assert (Gy := Rmax_r 0 y). apply Rmax_lub.
  - apply Rplus_le_le_0_compat; apply Rmult_le_pos; lra.
  - apply Rplus_le_compat; apply Rmult_le_compat_l; lra. Qed.
Lemma wu_chord e t a b : 0 <= t <= 1 -> wu e (t * a + (1 - t) * b) <= t * wu e a + (1 - t) * wu e b.
Proof. intros Ht. unfold wu. replace (1 - e * (t * a + (1 - t) * b)) with (t * (1 - e * a) + (1 - t) * (1 - e * b)) by ring.
  now apply pos_convex. Qed.

(* hockey-stick as a function of alpha = exp eps is convex: the chord lies above, for every alpha *)
Definition HSa {T} (P Q : T -> R) l alpha := S (fun x => pos (P x - alpha * Q x)) l.
Theorem HSa_chord {T} (P Q : T -> R) l t a b : 0 <= t <= 1 ->
  HSa P Q l (t * a + (1 - t) * b) <= t * HSa P Q l a + (1 - t) * HSa P Q l b.
Proof. intros Ht; unfold HSa; induction l as [|x l IH]; simpl; [lra|].
  assert (pos (P x - (t * a + (1 - t) * b) * Q x) <= t * pos (P x - a * Q x) + (1 - t) * pos (P x - b * Q x)).
  { replace (P x - (t * a + (1 - t) * b) * Q x) with (t * (P x - a * Q x) + (1 - t) * (P x - b * Q x)) by ring.
    now apply pos_convex. } lra. Qed.
(* two-point form *)
Theorem HSa_chord2 {T} (P Q : T -> R) l a b x : a < b -> a <= x <= b ->
  HSa P Q l x <= ((b - x) * HSa P Q l a + (x - a) * HSa P Q l b) / (b - a).
Proof. intros Hab Hx. generalize (HSa_chord P Q l ((b - x) / (b - a)) a b).
  replace ((b - x) / (b - a) * a + (1 - (b - x) / (b - a)) * b) with x by (field; lra).
  intros H. eapply Rle_trans; [apply H|right; field; lra].
  split; [apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; lra]|].
  apply Rmult_le_reg_r with (b - a); [lra|]. unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra. Qed.

(* splitting weight *)
Definition th (a b z : R) := (exp (- z) - exp (- b)) / (exp (- a) - exp (- b)).
Lemma th_spec a b z : a < b -> a <= z <= b ->
  0 <= th a b z <= 1 /\ exp (- z) = th a b z * exp (- a) + (1 - th a b z) * exp (- b).
Proof. intros Hab [H1 H2]. assert (exp (- b) < exp (- a)) by (apply exp_increasing; lra).
  assert (exp (- b) <= exp (- z)) by (apply exp_le; lra).
  assert (exp (- z) <= exp (- a)) by (apply exp_le; lra).
  unfold th; split; [split|].
  - apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; lra].
  - apply Rmult_le_reg_r with (exp (- a) - exp (- b)); [lra|]. unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra.
  - field; lra. Qed.
Definition split1 (h : R) (x : R * R) : list (R * R) :=
  let k := IZR (Zfloor (fst x / h)) in let a := h * k in let b := h * (k + 1) in
  let t := th a b (fst x) in [(a, t * snd x); (b, (1 - t) * snd x)].
Definition dots h (A : law) : law := (flat_map (split1 h) (fst A), snd A).
Lemma cell h z : 0 < h -> let k := IZR (Zfloor (z / h)) in h * k < h * (k + 1) /\ h * k <= z <= h * (k + 1).
Proof. intros Hh k. assert (K1 := Zfloor_lb (z / h)). assert (K2 := Zfloor_ub (z / h)). fold k in K1, K2.
  assert (Z : z = h * (z / h)) by (field; lra).
  split; [apply Rmult_lt_compat_l; lra|]. rewrite Z at 1 2. split; apply Rmult_le_compat_l; lra. Qed.
Theorem dom_dots h A : 0 < h -> nonneg A -> dom A (dots h A) /\ nonneg (dots h A).
Proof. intros Hh; destruct A as [l i]; intros [Hl Hi]; simpl in Hl, Hi.
  assert (D : forall x : R * R, let a := h * IZR (Zfloor (fst x / h)) in let b := h * (IZR (Zfloor (fst x / h)) + 1) in
     0 <= th a b (fst x) <= 1 /\ exp (- fst x) = th a b (fst x) * exp (- a) + (1 - th a b (fst x)) * exp (- b)).
  { intros x a b. apply th_spec; apply (cell h (fst x) Hh). }
  split; [split|split]; [intros e; unfold delta| unfold tot| |auto]; simpl.
  - apply Rplus_le_compat_l. induction Hl as [|x l Hx Hl IH]; simpl; [lra|].
    destruct (D x) as [D1 D2]. rewrite !w_wu, D2.
    assert (G := Rmult_le_compat_l _ _ _ Hx (wu_chord (exp e) _ (exp (- (h * IZR (Zfloor (fst x / h))))) (exp (- (h * (IZR (Zfloor (fst x / h)) + 1)))) D1)).
    eapply Rle_trans; [apply Rplus_le_compat; [apply G|apply IH]|].
    rewrite <- !w_wu. right; ring.
  - apply Rplus_le_compat_l. right. clear. induction l as [|x l IH]; simpl; [auto|]. rewrite IH; unfold one; ring.
  - unfold nn in *. induction Hl as [|x l Hx Hl IH]; simpl; [constructor|].
    destruct (D x) as [D1 _]. constructor; [|constructor]; auto; simpl; apply Rmult_le_pos; auto; lra. Qed.
Corollary dots_kfold h k A eps : 0 < h -> nonneg A -> delta eps (kfold k A) <= delta eps (kfold k (dots h A)).
Proof. intros Hh HA. destruct (dom_dots h A Hh HA). apply dom_kfold; auto. Qed.
(* optimality: exact at grid eps (outside the open cell) *)
Theorem split_exact e t a b : 0 <= t <= 1 -> (e * a <= 1 /\ e * b <= 1) \/ (1 <= e * a /\ 1 <= e * b) ->
  wu e (t * a + (1 - t) * b) = t * wu e a + (1 - t) * wu e b.
Proof. intros Ht H; unfold wu.
  assert (K : 1 - e * (t * a + (1 - t) * b) = t * (1 - e * a) + (1 - t) * (1 - e * b)) by ring.
  assert (G : forall x y, 0 <= x -> 0 <= y -> 0 <= t * x + (1 - t) * y)
    by (intros; apply Rplus_le_le_0_compat; apply Rmult_le_pos; lra).
  destruct H as [[H1 H2]|[H1 H2]].
  - assert (N := G (1 - e * a) (1 - e * b) ltac:(lra) ltac:(lra)).
    rewrite (pos_of_pos (1 - e * a)), (pos_of_pos (1 - e * b)), pos_of_pos by lra. lra.
  - assert (N := G (e * a - 1) (e * b - 1) ltac:(lra) ltac:(lra)).
    rewrite (pos_of_neg (1 - e * a)), (pos_of_neg (1 - e * b)), pos_of_neg by lra. lra. Qed.
