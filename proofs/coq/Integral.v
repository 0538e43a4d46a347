(* 9. Outputs that need not be finitely many, adaptive steps of several kinds, Poisson sampling.

   An `integral` on a set T of outputs is what sums and integrals have in common: it is linear, and larger functions
   have larger integrals.  Finite sums are one (`sums`), Riemann's integral over the line another (Normal.v).  A
   mechanism is a family of densities with respect to it.
     adaptive_laws: steps of any number of kinds, each chosen after seeing all earlier outputs.  If a finite law B
                    dominates each step, then for every test of all outputs (an event, or a function with values in
                    [0,1]) P test - e^eps Q test <= delta eps (the convolution of the B).
     sampled_remove, sampled_add: a step that runs on a random batch of a data set. *)
Require Import Reals List Lra.
From VerifiedDP Require Import Law HockeyStick.
Import ListNotations.
Open Scope R_scope.

Record integral (T : Type) := {
  is_int : (T -> R) -> R -> Prop;  (* is_int f v: f has an integral, and it is v *)
  int_zero : is_int (fun _ => 0) 0;
  int_ext : forall f g v, (forall x, f x = g x) -> is_int f v -> is_int g v;
  int_plus : forall f g u v, is_int f u -> is_int g v -> is_int (fun x => f x + g x) (u + v);
  int_scal : forall c f v, is_int f v -> is_int (fun x => c * f x) (c * v);
  int_le : forall f g u v, (forall x, f x <= g x) -> is_int f u -> is_int g v -> u <= v }.
Arguments is_int {T}. Arguments int_zero {T}. Arguments int_ext {T}. Arguments int_plus {T}.
Arguments int_scal {T}. Arguments int_le {T}.

Lemma S_plus {T} (f g : T -> R) l : S (fun x => f x + g x) l = S f l + S g l.
Proof. induction l as [|a l IH]; simpl; [ring|rewrite IH; ring]. Qed.
Lemma pos_add x y : pos (x + y) <= pos x + pos y.
Proof. unfold pos. assert (A := Rmax_l 0 x). assert (B := Rmax_r 0 x). assert (C := Rmax_l 0 y).
  assert (D := Rmax_r 0 y). apply Rmax_lub; lra. Qed.

(* Finitely many outputs. *)
Definition sums {T} (l : list T) : integral T.
Proof. refine {| is_int := fun f v => S f l = v |}.
  - induction l as [|x l IH]; simpl; [|rewrite IH]; ring.
  - intros f g v H <-. apply S_ext. intros; now rewrite H.
  - intros f g u v <- <-. apply S_plus.
  - intros c f v <-. apply S_scal.
  - intros f g u v H <- <-. now apply S_le. Defined.

Section Over.
Context {T : Type} (A : integral T).

Lemma int_minus f g u v : is_int A f u -> is_int A g v -> is_int A (fun x => f x - g x) (u - v).
Proof. intros F G. replace (u - v) with (u + -1 * v) by ring.
  apply (int_ext A (fun x => f x + -1 * g x)); [intros; ring|]. now apply int_plus, int_scal. Qed.
Lemma int_ge0 f u : (forall x, 0 <= f x) -> is_int A f u -> 0 <= u.
Proof. intros H F. apply (int_le A (fun _ => 0) f 0 u); auto using int_zero. Qed.
Lemma int_unique f u v : is_int A f u -> is_int A f v -> u = v.
Proof. intros; apply Rle_antisym; eapply (int_le A f f); eauto; intros; lra. Qed.

(* f is at most a function whose integral is at most c. *)
Definition upto (f : T -> R) (c : R) := exists g v, (forall x, f x <= g x) /\ is_int A g v /\ v <= c.
Lemma upto_int f v : is_int A f v -> upto f v.
Proof. intros H. exists f, v. repeat split; auto; intros; lra. Qed.
Lemma upto_le f g c d : (forall x, f x <= g x) -> c <= d -> upto g c -> upto f d.
Proof. intros H D [k [v [K [I L]]]]. exists k, v. repeat split; auto; [intros x; specialize (H x); specialize (K x)|]; lra. Qed.
Lemma upto_plus f g c d : upto f c -> upto g d -> upto (fun x => f x + g x) (c + d).
Proof. intros [f' [u [F [IF U]]]] [g' [v [G [IG V]]]]. exists (fun x => f' x + g' x), (u + v).
  repeat split; auto using int_plus; [intros x; specialize (F x); specialize (G x)|]; lra. Qed.
Lemma upto_scal c f d : 0 <= c -> upto f d -> upto (fun x => c * f x) (c * d).
Proof. intros C [f' [u [F [IF U]]]]. exists (fun x => c * f' x), (c * u).
  repeat split; auto using int_scal; intros; now apply Rmult_le_compat_l. Qed.
Lemma upto_int_le f u c : is_int A f u -> upto f c -> u <= c.
Proof. intros F [g [v [G [I L]]]]. eapply Rle_trans; [|exact L]. eapply (int_le A f g); eauto. Qed.

(* ---------- adaptive steps ---------- *)
(* D h x: the density of the next output x after the outputs h, the latest first.  expect D test k h v: the mean of
   test over all outputs of k more steps exists, as an iterated integral, and is v. *)
Fixpoint expect (D : list T -> T -> R) (test : list T -> R) (k : nat) (h : list T) (v : R) : Prop :=
  match k with
  | O => v = test h
  | Datatypes.S k => exists F, (forall x, expect D test k (x :: h) (F x)) /\ is_int A (fun x => D h x * F x) v
  end.
(* B dominates the step: the hockey-stick divergence of every order is at most B's. *)
Definition bounded_by (P Q : T -> R) (B : law) :=
  (forall x, 0 <= P x) /\ (forall x, 0 <= Q x) /\ upto P (tot B) /\
  forall e, upto (fun x => pos (P x - exp e * Q x)) (delta e B).
(* ... each step in turn by its law of the list, whatever the outputs before it. *)
Fixpoint all_bounded (P Q : list T -> T -> R) (l : list law) (h : list T) : Prop :=
  match l with [] => True | B :: l => bounded_by (P h) (Q h) B /\ forall x, all_bounded P Q l (x :: h) end.

Lemma step_sum P Q B eps i l : bounded_by P Q B -> 0 <= i -> nn l ->
  upto (fun x => i * P x + E (fun y => pos (P x - exp (eps - y) * Q x)) l) (i * tot B + E (fun y => delta (eps - y) B) l).
Proof. intros [P0 [Q0 [M H]]] Hi Hl. induction Hl as [|a l Ha Hl IH]; simpl.
  - apply (upto_le _ (fun x => i * P x) (i * tot B)); [intros; lra|lra|]. now apply upto_scal.
  - apply (upto_le _ (fun x => snd a * pos (P x - exp (eps - fst a) * Q x)
        + (i * P x + E (fun y => pos (P x - exp (eps - y) * Q x)) l))
      (snd a * delta (eps - fst a) B + (i * tot B + E (fun y => delta (eps - y) B) l))); [intros; lra|lra|].
    apply upto_plus; [now apply upto_scal|exact IH]. Qed.
Lemma scale_atoms l p q e : 0 < p -> 0 < q ->
  p * E (w (e - ln (p / q))) l = E (fun y => pos (p - exp (e - y) * q)) l.
Proof. intros Hp Hq. rewrite <- E_scal. apply E_ext. intros y. unfold w.
  rewrite pos_scal by lra. f_equal. replace (e - ln (p / q) - y) with ((e - y) + - ln (p / q)) by ring.
  rewrite exp_plus, exp_Ropp, exp_ln by (now apply Rdiv_lt_0_compat). field; lra. Qed.

Lemma weigh C p q F G e : 0 <= p -> 0 <= q -> 0 <= G /\ 0 <= F <= tot C /\ (forall e, F - exp e * G <= delta e C) ->
  nn (fst C) -> 0 <= snd C ->
  p * F - exp e * (q * G) <= snd C * p + E (fun y => pos (p - exp (e - y) * q)) (fst C).
Proof. intros [Hp| <-] Hq [HG [HF H]] N0 N1.
  2:{ assert (Y : 0 <= exp e * (q * G)) by (apply Rmult_le_pos; [left; apply exp_pos|now apply Rmult_le_pos]).
    assert (Z := E_ge0 (fun y => pos (0 - exp (e - y) * q)) _ N0 (fun y => pos_ge0 _)). lra. }
  destruct Hq as [Hq| <-].
  - rewrite <- scale_atoms by auto. specialize (H (e - ln (p / q))). unfold delta in H.
    apply (Rmult_le_compat_l p) in H; [|lra]. replace (e - ln (p / q)) with (e + - ln (p / q)) in H at 1 by ring.
    rewrite exp_plus, exp_Ropp, exp_ln in H by (now apply Rdiv_lt_0_compat).
    replace (p * (F - exp e * / (p / q) * G)) with (p * F - exp e * (q * G)) in H by (field; lra). lra.
  - rewrite (E_ext _ (fun _ => p)) by (intros; rewrite pos_of_pos; lra). rewrite E_const.
    unfold tot in HF. assert (p * F <= p * (snd C + E one (fst C))) by (apply Rmult_le_compat_l; lra). lra. Qed.

Theorem adaptive_laws (P Q : list T -> T -> R) test : (forall h, 0 <= test h <= 1) ->
  forall l h u v, Forall nonneg l -> all_bounded P Q l h ->
  expect P test (length l) h u -> expect Q test (length l) h v ->
  0 <= v /\ 0 <= u <= tot (compose l) /\ forall e, u - exp e * v <= delta e (compose l).
Proof. intros Ht. induction l as [|B l IH]; intros h u v Hl HB HU HV; simpl in *.
  - subst. specialize (Ht h). unfold tot, delta, w, unit_law, one; simpl. repeat split; try lra.
    intros e. rewrite Rminus_0_r, !Rmult_1_l, Rplus_0_l, Rplus_0_r.
    unfold pos. destruct (Rle_dec 0 (1 - exp e)) as [G|G]; [rewrite Rmax_right by auto|rewrite Rmax_left by lra];
      assert (X := exp_pos e); nra.
  - inversion Hl as [|? ? NB NL]; subst. destruct HB as [HB HB']. assert (HB2 := HB). destruct HB2 as [P0 [Q0 [M H]]].
    destruct HU as [F [HF IF]]. destruct HV as [G [HG IG]].
    assert (K : forall x, 0 <= G x /\ 0 <= F x <= tot (compose l) /\ forall e, F x - exp e * G x <= delta e (compose l)).
    { intros x. eapply IH; eauto. }
    assert (NC := nonneg_compose l NL). set (C := compose l) in *.
    assert (V0 : 0 <= v). { apply (int_ge0 _ _ (fun x => Rmult_le_pos _ _ (Q0 x) (proj1 (K x))) IG). }
    assert (U0 : 0 <= u). { apply (int_ge0 _ _ (fun x => Rmult_le_pos _ _ (P0 x) (proj1 (proj1 (proj2 (K x))))) IF). }
    split; [auto|split; [split; [auto|]|]].
    + rewrite tot_conv, Rmult_comm. apply (upto_int_le _ _ _ IF).
      apply (upto_le _ (fun x => tot C * P h x) (tot C * tot B)); [|lra|apply upto_scal; auto; now apply tot_ge0].
      intros x. rewrite Rmult_comm. apply Rmult_le_compat_r; auto. apply K.
    + intros e. rewrite delta_conv_comm, delta_conv.
      assert (I : is_int A (fun x => P h x * F x - exp e * (Q h x * G x)) (u - exp e * v)) by now apply int_minus, int_scal.
      destruct NC as [NC1 NC2]. apply (upto_int_le _ _ _ I).
      apply (upto_le _ _ _ _ (fun x => weigh _ _ _ _ _ _ (P0 x) (Q0 x) (K x) NC1 NC2) (Rle_refl _)).
      now apply step_sum. Qed.
Corollary adaptive_test (P Q : list T -> T -> R) test l eps d u v : (forall h, 0 <= test h <= 1) ->
  Forall nonneg l -> all_bounded P Q l [] -> delta eps (compose l) <= d ->
  expect P test (length l) [] u -> expect Q test (length l) [] v -> u <= exp eps * v + d.
Proof. intros Ht Hl HB Hd HU HV. destruct (adaptive_laws P Q test Ht l [] u v Hl HB HU HV) as [_ [_ H]].
  specialize (H eps). lra. Qed.
End Over.

(* ---------- Poisson sampling of a data set ---------- *)
(* all batches of a data set with their probabilities, when each record is taken with probability q *)
Fixpoint batches {X} (q : R) (D : list X) : list (list X * R) :=
  match D with
  | [] => [([], 1)]
  | x :: D => map (fun b => (fst b, (1 - q) * snd b)) (batches q D) ++ map (fun b => (x :: fst b, q * snd b)) (batches q D)
  end.
(* the density of the output when M runs on a random batch of D *)
Definition sampled {X T} (q : R) (M : list X -> T -> R) (D : list X) (y : T) : R :=
  S (fun b => snd b * M (fst b) y) (batches q D).
Definition mix {T} (q : R) (P Q : T -> R) (x : T) := (1 - q) * Q x + q * P x.

Lemma S_map {V W} (f : W -> R) (g : V -> W) l : S f (map g l) = S (fun v => f (g v)) l.
Proof. induction l as [|v l IH]; simpl; [auto|now rewrite IH]. Qed.
Lemma S_pos {T} (f : T -> R) l : pos (S f l) <= S (fun x => pos (f x)) l.
Proof. induction l as [|a l IH]; simpl; [unfold pos; rewrite Rmax_left; lra|].
  eapply Rle_trans; [apply pos_add|]. lra. Qed.

Section Poisson.
Context {T X : Type} (A : integral T).
Variables (q : R) (M : list X -> T -> R).
Hypothesis Hq : 0 < q <= 1.
Hypothesis M0 : forall b y, 0 <= M b y.
Hypothesis M1 : forall b, is_int A (M b) 1.

Lemma batches_ge0 (D : list X) : Forall (fun b => 0 <= snd b) (batches q D).
Proof. induction D as [|x D IH]; simpl; [repeat constructor; simpl; lra|].
  apply Forall_app; split; rewrite Forall_map; (eapply Forall_impl; [|apply IH]); simpl; intros b Hb; apply Rmult_le_pos; lra. Qed.
Lemma batches_tot (D : list X) : S snd (batches q D) = 1.
Proof. induction D as [|x D IH]; simpl; [lra|]. rewrite S_app, !S_map; simpl. rewrite !S_scal, IH; ring. Qed.
Lemma sampled_ge0 D y : 0 <= sampled q M D y.
Proof. unfold sampled. assert (H := batches_ge0 D). induction H as [|b bs Hb H IH]; simpl; [lra|].
  assert (0 <= snd b * M (fst b) y) by now apply Rmult_le_pos. lra. Qed.
Lemma sampled_int D : is_int A (sampled q M D) 1.
Proof. rewrite <- (batches_tot D). unfold sampled. induction (batches q D) as [|b bs IH]; simpl; [apply int_zero|].
  apply (int_plus A (fun y => snd b * M (fst b) y)); [|exact IH]. assert (K := int_scal A (snd b) _ _ (M1 (fst b))).
  now rewrite Rmult_1_r in K. Qed.
(* one record more, whatever batch of the others is drawn *)
Lemma sampled_cons x D y : sampled q M (x :: D) y = S (fun b => snd b * mix q (M (x :: fst b)) (M (fst b)) y) (batches q D).
Proof. unfold sampled; simpl. rewrite S_app, !S_map; simpl. rewrite <- S_plus. apply S_ext; intros b. unfold mix; ring. Qed.
Lemma over_batches (f : list X -> T -> R) c D : 0 <= c -> (forall b, upto A (fun y => pos (f b y)) c) ->
  upto A (fun y => pos (S (fun b => snd b * f (fst b) y) (batches q D))) c.
Proof. intros Hc H. apply (upto_le _ _ (fun y => S (fun b => snd b * pos (f (fst b) y)) (batches q D)) (c * S snd (batches q D))).
  - intros y. eapply Rle_trans; [apply S_pos|]. right. assert (N := batches_ge0 D).
    induction N as [|b bs Hb N IH]; simpl; [auto|]. now rewrite IH, pos_scal.
  - rewrite batches_tot; lra.
  - assert (N := batches_ge0 D). induction N as [|b bs Hb N IH]; simpl.
    + rewrite Rmult_0_r. apply upto_int, int_zero.
    + rewrite Rmult_plus_distr_l, (Rmult_comm c). now apply upto_plus; [apply upto_scal|]. Qed.

(* The curve c bounds the step with and without a record on any batch: it gives the sampled step's. *)
Variable c : R -> R.
Definition remove_curve (a : R) := q * c ((a - 1 + q) / q).
Definition add_curve (a : R) := if Rlt_dec 0 (1 - a * (1 - q)) then (1 - a * (1 - q)) * c (a * q / (1 - a * (1 - q))) else 0.
Hypothesis c0 : forall a, 0 <= c a.
Theorem sampled_remove x D a : (forall b x a, upto A (fun y => pos (M (x :: b) y - a * M b y)) (c a)) ->
  upto A (fun y => pos (sampled q M (x :: D) y - a * sampled q M D y)) (remove_curve a).
Proof. intros H. set (f := fun b y => mix q (M (x :: b)) (M b) y - a * M b y).
  apply (upto_le _ _ (fun y => pos (S (fun b => snd b * f (fst b) y) (batches q D))) (remove_curve a)); [|lra|].
  - intros y. right. f_equal. rewrite sampled_cons. unfold sampled. rewrite <- S_scal.
    replace (S _ (batches q D) - S _ (batches q D)) with
      (S (fun b => snd b * mix q (M (x :: fst b)) (M (fst b)) y) (batches q D) + -1 * S (fun b => a * (snd b * M (fst b) y)) (batches q D)) by ring.
    rewrite <- S_scal, <- S_plus. apply S_ext; intros b. unfold f; ring.
  - apply over_batches; [apply Rmult_le_pos; [lra|apply c0]|]. intros b.
    apply (upto_le _ _ (fun y => q * pos (M (x :: b) y - (a - 1 + q) / q * M b y)) (remove_curve a)); [|lra|].
    + intros y. rewrite pos_scal by lra. right. f_equal. unfold f, mix. field; lra.
    + apply upto_scal; [lra|apply H]. Qed.
Theorem sampled_add x D a : 0 <= a -> (forall b x a, upto A (fun y => pos (M b y - a * M (x :: b) y)) (c a)) ->
  upto A (fun y => pos (sampled q M D y - a * sampled q M (x :: D) y)) (add_curve a).
Proof. intros Ha H. set (f := fun b y => M b y - a * mix q (M (x :: b)) (M b) y).
  apply (upto_le _ _ (fun y => pos (S (fun b => snd b * f (fst b) y) (batches q D))) (add_curve a)); [|lra|].
  - intros y. right. f_equal. rewrite sampled_cons. unfold sampled. rewrite <- S_scal.
    replace (S _ (batches q D) - S _ (batches q D)) with
      (S (fun b => snd b * M (fst b) y) (batches q D) + -1 * S (fun b => a * (snd b * mix q (M (x :: fst b)) (M (fst b)) y)) (batches q D)) by ring.
    rewrite <- S_scal, <- S_plus. apply S_ext; intros b. unfold f; ring.
  - apply over_batches; unfold add_curve; destruct (Rlt_dec 0 (1 - a * (1 - q))) as [G|G].
    + apply Rmult_le_pos; [lra|apply c0].
    + lra.
    + intros b. apply (upto_le _ _ (fun y => (1 - a * (1 - q)) * pos (M b y - a * q / (1 - a * (1 - q)) * M (x :: b) y))
        ((1 - a * (1 - q)) * c (a * q / (1 - a * (1 - q))))); [|lra|].
      * intros y. rewrite pos_scal by lra. right. f_equal. unfold f, mix. field; lra.
      * apply upto_scal; [lra|apply H].
    + intros b. apply (upto_le _ _ (fun _ => 0) 0); [|lra|apply upto_int, int_zero]. intros y. right. apply pos_of_neg.
      unfold f, mix. assert (X1 := M0 b y). assert (0 <= a * q * M (x :: b) y) by (repeat apply Rmult_le_pos; auto; lra). nra. Qed.
End Poisson.
