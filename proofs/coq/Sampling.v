(* 9a. Poisson sampling, from the mechanism to the guarantee (finite outputs).
   - T49/T21's algebra: the sampled pair of a dominated pair is dominated by the sampled dominating pair, both orders;
   - joint convexity (conditioning on the other records' batch), post-processing by a Markov kernel;
   - sampled_private: k adaptive Poisson-sampled steps, checked by the extracted checker. *)
Require Import Reals List Lra ZArith.
From VerifiedDP Require Import Law HockeyStick ConnectTheDots Checker Link Extract.
Import ListNotations.
Open Scope R_scope.

Lemma pos_add x y : pos (x + y) <= pos x + pos y.
Proof. unfold pos. assert (A := Rmax_l 0 x); assert (B := Rmax_r 0 x); assert (C := Rmax_l 0 y); assert (D := Rmax_r 0 y).
  apply Rmax_lub; lra. Qed.
Lemma S_plus {T} (f g : T -> R) l : S (fun x => f x + g x) l = S f l + S g l.
Proof. induction l as [|a l IH]; simpl; [ring|rewrite IH; ring]. Qed.
Lemma S_ge0 {T} (f : T -> R) l : (forall x, 0 <= f x) -> 0 <= S f l.
Proof. intros H; induction l as [|a l IH]; simpl; [lra|]. specialize (H a); lra. Qed.
Lemma S_swap {T U} (f : T -> U -> R) l m : S (fun x => S (f x) m) l = S (fun y => S (fun x => f x y) l) m.
Proof. induction l as [|a l IH]; simpl.
  - induction m as [|y m IH]; simpl; [auto|lra].
  - rewrite IH. rewrite <- S_plus. auto. Qed.
Lemma S_pos {T} (f : T -> R) l : pos (S f l) <= S (fun x => pos (f x)) l.
Proof. induction l as [|a l IH]; simpl; [unfold pos; rewrite Rmax_left; lra|].
  eapply Rle_trans; [apply pos_add|]. lra. Qed.
Lemma HSa_ge0 {T} (P Q : T -> R) l a : 0 <= HSa P Q l a.
Proof. apply S_ge0; intros; apply pos_ge0. Qed.
Lemma HS_HSa {T} (P Q : T -> R) l e : HS P Q e l = HSa P Q l (exp e).
Proof. reflexivity. Qed.

(* ---------- dominance of pairs at every alpha >= 0 ---------- *)
Section Pairs.
Context {T U : Type}.
Variables (P Q : T -> R) (l : list T) (A B : U -> R) (m : list U).
Hypothesis P0 : forall x, 0 <= P x. Hypothesis Q0 : forall x, 0 <= Q x.
Hypothesis A0 : forall x, 0 <= A x. Hypothesis B0 : forall x, 0 <= B x.
Hypothesis P1 : S P l = 1. Hypothesis Q1 : S Q l = 1.
Hypothesis A1 : S A m = 1. Hypothesis B1 : S B m = 1.
Definition mix {V} (q : R) (X Y : V -> R) (x : V) := (1 - q) * Y x + q * X x.

Lemma HSa_neg {V} (X Y : V -> R) n a : (forall x, 0 <= X x) -> (forall x, 0 <= Y x) -> S X n = 1 -> S Y n = 1 ->
  a <= 0 -> HSa X Y n a = 1 - a.
Proof. intros HX HY SX SY Ha. unfold HSa. rewrite (S_ext _ (fun x => X x + (- a) * Y x)).
  - rewrite S_plus, S_scal, SX, SY; ring.
  - intros x. specialize (HX x); specialize (HY x). rewrite pos_of_pos; nra. Qed.
Lemma HSa_scale {V} (X Y : V -> R) n c a : 0 <= c -> S (fun x => pos (c * (X x - a * Y x))) n = c * HSa X Y n a.
Proof. intros Hc. unfold HSa. rewrite <- S_scal. apply S_ext; intros x. now rewrite pos_scal. Qed.

(* remove order: (1-q) Q + q P against Q *)
Lemma remove_eq {V} (X Y : V -> R) n q a : 0 < q ->
  HSa (mix q X Y) Y n a = q * HSa X Y n ((a - 1 + q) / q).
Proof. intros Hq. rewrite <- HSa_scale by lra. apply S_ext; intros x. f_equal. unfold mix. field. lra. Qed.
Theorem remove_dom q : 0 < q <= 1 -> (forall a, 0 <= a -> HSa P Q l a <= HSa A B m a) ->
  forall a, HSa (mix q P Q) Q l a <= HSa (mix q A B) B m a.
Proof. intros Hq H a. rewrite !remove_eq by lra. apply Rmult_le_compat_l; [lra|].
  destruct (Rle_dec 0 ((a - 1 + q) / q)) as [G|G]; [auto|]. rewrite !HSa_neg by (auto; lra). lra. Qed.
(* add order: Q against (1-q) Q + q P *)
Lemma add_eq {V} (X Y : V -> R) n q a : 0 < 1 - a * (1 - q) ->
  HSa Y (mix q X Y) n a = (1 - a * (1 - q)) * HSa Y X n (a * q / (1 - a * (1 - q))).
Proof. intros Hc. rewrite <- HSa_scale by lra. apply S_ext; intros x. f_equal. unfold mix. field. lra. Qed.
Lemma add_zero {V} (X Y : V -> R) n q a : (forall x, 0 <= X x) -> (forall x, 0 <= Y x) -> 0 <= q -> 0 <= a -> 1 - a * (1 - q) <= 0 ->
  HSa Y (mix q X Y) n a = 0.
Proof. intros HX HY Hq Ha Hc. unfold HSa. rewrite (S_ext _ (fun x => 0 * 0)).
  - rewrite S_scal; ring.
  - intros x. specialize (HX x); specialize (HY x). rewrite pos_of_neg; [ring|]. unfold mix.
    assert (0 <= a * q * X x) by (repeat apply Rmult_le_pos; auto). nra. Qed.
Theorem add_dom q : 0 <= q <= 1 -> (forall a, 0 <= a -> HSa Q P l a <= HSa B A m a) ->
  forall a, 0 <= a -> HSa Q (mix q P Q) l a <= HSa B (mix q A B) m a.
Proof. intros Hq H a Ha. destruct (Rlt_dec 0 (1 - a * (1 - q))) as [G|G].
  - rewrite !add_eq by auto. apply Rmult_le_compat_l; [lra|]. apply H.
    apply Rmult_le_pos; [nra|]. left; now apply Rinv_0_lt_compat.
  - rewrite (add_zero P Q), (add_zero A B) by (auto; lra). lra. Qed.
End Pairs.

(* ---------- conditioning: mixtures over what both data sets share ---------- *)
Theorem HSa_joint {T V} (w : V -> R) (bs : list V) (P Q : V -> T -> R) (l : list T) a d :
  (forall b, 0 <= w b) -> S w bs = 1 -> (forall b, HSa (P b) (Q b) l a <= d) ->
  HSa (fun x => S (fun b => w b * P b x) bs) (fun x => S (fun b => w b * Q b x) bs) l a <= d.
Proof. intros W0 W1 H. unfold HSa. apply Rle_trans with (S (fun x => S (fun b => w b * pos (P b x - a * Q b x)) bs) l).
  - apply S_le; intros x. rewrite <- S_scal.
    replace (S (fun b => w b * P b x) bs - S (fun b => a * (w b * Q b x)) bs)
      with (S (fun b => w b * (P b x - a * Q b x)) bs).
    + eapply Rle_trans; [apply S_pos|]. right; apply S_ext; intros b. symmetry; now apply pos_scal.
    + clear; induction bs as [|b bs IH]; simpl; [ring|rewrite IH; ring].
  - rewrite S_swap. rewrite (S_ext _ (fun b => w b * HSa (P b) (Q b) l a)).
    + apply Rle_trans with (S (fun b => d * w b) bs); [apply S_le; intros b|rewrite S_scal, W1; lra].
      rewrite (Rmult_comm d). apply Rmult_le_compat_l; auto.
    + intros b. apply S_scal. Qed.
(* post-processing by a Markov kernel K x y *)
Theorem HSa_post {T V} (K : T -> V -> R) (P Q : T -> R) l (n : list V) a :
  (forall x y, 0 <= K x y) -> (forall x, S (K x) n = 1) ->
  HSa (fun y => S (fun x => P x * K x y) l) (fun y => S (fun x => Q x * K x y) l) n a <= HSa P Q l a.
Proof. intros K0 K1. unfold HSa. apply Rle_trans with (S (fun y => S (fun x => K x y * pos (P x - a * Q x)) l) n).
  - apply S_le; intros y. rewrite <- S_scal.
    replace (S (fun x => P x * K x y) l - S (fun x => a * (Q x * K x y)) l) with (S (fun x => K x y * (P x - a * Q x)) l).
    + eapply Rle_trans; [apply S_pos|]. right; apply S_ext; intros x. symmetry; now apply pos_scal.
    + clear; induction l as [|x l IH]; simpl; [ring|rewrite IH; ring].
  - rewrite S_swap. right; apply S_ext; intros x.
    rewrite (S_ext _ (fun y => pos (P x - a * Q x) * K x y)) by (intros; ring). rewrite S_scal, K1; ring. Qed.

(* ---------- Poisson sampling of a data set ---------- *)
Section Poisson.
Context {X T : Type}.
Variables (q : R) (Hq : 0 < q <= 1) (l : list T).
(* all batches of a data set with their probabilities *)
Fixpoint batches (D : list X) : list (list X * R) :=
  match D with [] => [([], 1)]
  | x :: D => map (fun b => (fst b, (1 - q) * snd b)) (batches D) ++ map (fun b => (x :: fst b, q * snd b)) (batches D) end.
Definition sampled (M : list X -> T -> R) (D : list X) (y : T) : R := S (fun b => snd b * M (fst b) y) (batches D).
Lemma S_map {V W} (f : W -> R) (g : V -> W) l' : S f (map g l') = S (fun v => f (g v)) l'.
Proof. induction l' as [|v l' IH]; simpl; [auto|now rewrite IH]. Qed.
Lemma batches_ge0 D : Forall (fun b => 0 <= snd b) (batches D).
Proof. induction D as [|x D IH]; simpl; [repeat constructor; simpl; lra|].
  apply Forall_app; split; rewrite Forall_map; (eapply Forall_impl; [|apply IH]); simpl; intros b Hb; apply Rmult_le_pos; lra. Qed.
Lemma batches_tot D : S snd (batches D) = 1.
Proof. induction D as [|x D IH]; simpl; [lra|]. rewrite S_app, !S_map; simpl. rewrite !S_scal, IH; ring. Qed.
Definition wt (b : list X * R) := Rmax 0 (snd b).
Lemma S_wt (f : list X * R -> R) D : S (fun b => snd b * f b) (batches D) = S (fun b => wt b * f b) (batches D).
Proof. assert (H := batches_ge0 D). induction H as [|b bs Hb H IH]; simpl; [auto|]. rewrite IH. unfold wt at 2. now rewrite Rmax_right. Qed.
(* the record more *)
Lemma sampled_cons M x D y : sampled M (x :: D) y =
  S (fun b => wt b * mix q (M (x :: fst b)) (M (fst b)) y) (batches D).
Proof. unfold sampled; simpl. rewrite S_app, !S_map; simpl. rewrite <- S_plus.
  rewrite <- (S_wt (fun b => mix q (M (x :: fst b)) (M (fst b)) y)). apply S_ext; intros b. unfold mix; ring. Qed.

Context {U : Type}.
Variables (A B : U -> R) (m : list U).
Hypothesis A0 : forall x, 0 <= A x. Hypothesis B0 : forall x, 0 <= B x.
Hypothesis A1 : S A m = 1. Hypothesis B1 : S B m = 1.
Variable M : list X -> T -> R.
Hypothesis M0 : forall b y, 0 <= M b y. Hypothesis M1 : forall b, S (M b) l = 1.
(* the base mechanism, on any batch, with and without a record *)
Hypothesis base : forall x b a, 0 <= a -> HSa (M (x :: b)) (M b) l a <= HSa A B m a.
Hypothesis base' : forall x b a, 0 <= a -> HSa (M b) (M (x :: b)) l a <= HSa B A m a.

Theorem sampled_remove x D a : HSa (sampled M (x :: D)) (sampled M D) l a <= HSa (mix q A B) B m a.
Proof. apply Rle_trans with (HSa (fun y => S (fun b => wt b * mix q (M (x :: fst b)) (M (fst b)) y) (batches D))
                            (fun y => S (fun b => wt b * M (fst b) y) (batches D)) l a).
  - right. apply S_ext; intros y. rewrite sampled_cons. unfold sampled. now rewrite (S_wt (fun b => M (fst b) y)).
  - apply HSa_joint; [intros; apply Rmax_l| |].
    + rewrite <- (batches_tot D). rewrite (S_ext snd (fun b => snd b * 1)) by (intros; ring). rewrite S_wt.
      apply S_ext; intros; ring.
    + intros b. apply remove_dom; auto. Qed.
Theorem sampled_add x D a : 0 <= a -> HSa (sampled M D) (sampled M (x :: D)) l a <= HSa B (mix q A B) m a.
Proof. intros Ha. apply Rle_trans with (HSa (fun y => S (fun b => wt b * M (fst b) y) (batches D))
     (fun y => S (fun b => wt b * mix q (M (x :: fst b)) (M (fst b)) y) (batches D)) l a).
  - right. apply S_ext; intros y. rewrite sampled_cons. unfold sampled. now rewrite (S_wt (fun b => M (fst b) y)).
  - apply HSa_joint; [intros; apply Rmax_l| |].
    + rewrite <- (batches_tot D). rewrite (S_ext snd (fun b => snd b * 1)) by (intros; ring). rewrite S_wt.
      apply S_ext; intros; ring.
    + intros b. apply add_dom; auto; lra. Qed.
End Poisson.

(* ---------- k adaptive sampled steps, with the extracted checker ---------- *)
Theorem sampled_private {X T U} (q : R) (l : list T) (A B : U -> R) (m : list U)
    (M : list T -> list X -> T -> R) (p : problem) (x : X) (D : list X) :
  0 < q <= 1 -> (forall y, 0 <= A y) -> (forall y, 0 <= B y) -> S A m = 1 -> S B m = 1 ->
  (forall h b y, 0 <= M h b y) -> (forall h b, S (M h b) l = 1) ->
  (forall h x b a, 0 <= a -> HSa (M h (x :: b)) (M h b) l a <= HSa A B m a) ->
  dom (pld (mix q A B) B m) (law_of (grid_step p) (unit_of p) (step_law p)) ->
  accept_N p = true -> direction p = Above ->
  let k := Z.to_nat (count p) in
  forall ev, prob (run (fun h => sampled q (M h) (x :: D)) k []) ev (pows l k)
             <= exp (epsilon_of p) * prob (run (fun h => sampled q (M h) D) k []) ev (pows l k) + IZR (bound p) / unit_of p.
Proof. intros Hq HA HB A1 B1 M0 M1 base HD Acc Dir k.
  assert (SG : forall h D y, 0 <= sampled q (M h) D y).
  { intros h D' y. unfold sampled. rewrite (S_wt q Hq (fun b => M h (fst b) y)). apply S_ge0; intros b.
    apply Rmult_le_pos; [apply Rmax_l|auto]. }
  assert (ST : forall h D, S (sampled q (M h) D) l = 1).
  { intros h D'. unfold sampled. rewrite S_swap. rewrite (S_ext _ (fun b => snd b * 1)).
    - rewrite (S_ext _ snd) by (intros; ring). apply batches_tot.
    - intros b. now rewrite S_scal, M1. }
  assert (MX : forall y, 0 <= mix q A B y).
  { intros y. unfold mix. apply Rplus_le_le_0_compat; apply Rmult_le_pos; auto; lra. }
  apply (accepted_private (fun h => sampled q (M h) (x :: D)) (fun h => sampled q (M h) D) l p); auto.
  intros h. eapply dom_trans; [|exact HD]. split.
  - intros e. rewrite <- !HS_pld by auto. rewrite !HS_HSa. apply sampled_remove; auto.
  - rewrite !tot_pld by auto. rewrite ST. right.
    unfold mix. rewrite S_plus, !S_scal, A1, B1. ring. Qed.
