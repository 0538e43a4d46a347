(* 1. Privacy-loss laws.

   When a mechanism runs on one of two neighbouring data sets, an observer of its output gains the evidence
   log (P/Q), the privacy loss.  Its law under P is all that matters for (eps, delta)-privacy (HockeyStick.v).
   Here such a law is a finite list of atoms (loss, mass) and a mass at +infinity; for a law A
       delta eps A  =  mass at infinity  +  sum of mass * (1 - e^(eps - loss))_+ .
   Running two mechanisms adds independent losses: convolution.  We order laws by dominance,
       dom A B  :=  for every eps, delta eps A <= delta eps B, and the total mass of A is at most that of B,
   and prove what an accountant needs: convolution respects dominance, hence k-fold composition does, and so
   rounding masses up, moving losses up and moving mass to infinity are safe at every stage. *)
Require Import Reals List Lra Lia ZArith Permutation.
From Flocq Require Import Core.Raux.
Import ListNotations.
Open Scope R_scope.

Definition law := (list (R * R) * R)%type.

(* The sum of mass * f(loss). *)
Fixpoint E (f : R -> R) (l : list (R * R)) : R :=
  match l with [] => 0 | a :: l => snd a * f (fst a) + E f l end.

Definition pos (x : R) := Rmax 0 x.
Definition w (eps z : R) := pos (1 - exp (eps - z)).
Definition one := fun _ : R => 1.
Definition delta (eps : R) (A : law) := snd A + E (w eps) (fst A).
Definition tot (A : law) := snd A + E one (fst A).
Definition nn (l : list (R * R)) := Forall (fun a => 0 <= snd a) l.
Definition nonneg (A : law) := nn (fst A) /\ 0 <= snd A.

(* ---------- positive part, and the weight of a loss ---------- *)
Lemma pos_ge0 x : 0 <= pos x. Proof. apply Rmax_l. Qed.
Lemma pos_le x y : x <= y -> pos x <= pos y.
Proof. intros; unfold pos; apply Rle_max_compat_l; auto. Qed.
Lemma pos_scal c x : 0 <= c -> c * pos x = pos (c * x).
Proof. intros; unfold pos; rewrite <- RmaxRmult, Rmult_0_r; auto. Qed.
Lemma pos_of_pos x : 0 <= x -> pos x = x.
Proof. intros; unfold pos; apply Rmax_right; lra. Qed.
Lemma pos_of_neg x : x <= 0 -> pos x = 0.
Proof. intros; unfold pos; apply Rmax_left; lra. Qed.
Lemma exp_le x y : x <= y -> exp x <= exp y.
Proof. intros [H| ->]; [left; now apply exp_increasing | lra]. Qed.
Lemma w_ge0 eps z : 0 <= w eps z. Proof. apply pos_ge0. Qed.
Lemma w_le1 eps z : w eps z <= 1.
Proof. unfold w, pos; apply Rmax_lub; [lra|]. generalize (exp_pos (eps - z)); lra. Qed.
Lemma w_mono eps z z' : z <= z' -> w eps z <= w eps z'.
Proof. intros; apply pos_le. assert (exp (eps - z') <= exp (eps - z)) by (apply exp_le; lra). lra. Qed.
Lemma w_shift eps z y : w eps (z + y) = w (eps - z) y.
Proof. unfold w; do 3 f_equal; ring. Qed.

Lemma E_ext f g l : (forall z, f z = g z) -> E f l = E g l.
Proof. intros H; induction l as [|a l IH]; simpl; [auto|]; now rewrite H, IH. Qed.
Lemma E_app f l m : E f (l ++ m) = E f l + E f m.
Proof. induction l as [|a l IH]; simpl; [|rewrite IH]; ring. Qed.
Lemma E_le f g l : nn l -> (forall z, f z <= g z) -> E f l <= E g l.
Proof. intros Hl H; induction Hl as [|a l Ha Hl IH]; simpl; [lra|].
  assert (snd a * f (fst a) <= snd a * g (fst a)) by (apply Rmult_le_compat_l; auto). lra. Qed.
Lemma E_plus f g l : E (fun z => f z + g z) l = E f l + E g l.
Proof. induction l as [|a l IH]; simpl; [|rewrite IH]; ring. Qed.
Lemma E_scal c f l : E (fun z => c * f z) l = c * E f l.
Proof. induction l as [|a l IH]; simpl; [|rewrite IH]; ring. Qed.
Lemma E_const c l : E (fun _ => c) l = c * E one l.
Proof. rewrite <- E_scal; apply E_ext; intros; unfold one; ring. Qed.
Lemma E_zero l : E (fun _ => 0) l = 0.
Proof. rewrite E_const; ring. Qed.
Lemma E_ge0 f l : nn l -> (forall z, 0 <= f z) -> 0 <= E f l.
Proof. intros. rewrite <- (E_zero l). apply E_le; auto. Qed.
Lemma fubini g l m :
  E (fun z => E (fun y => g z y) m) l = E (fun y => E (fun z => g z y) l) m.
Proof. induction l as [|a l IH]; simpl; [now rewrite E_zero|].
  rewrite IH, E_plus, E_scal. reflexivity. Qed.

(* ---------- convolution: the sum of two independent losses ---------- *)
Definition conv_atoms (l m : list (R*R)) :=
  flat_map (fun a => map (fun b => (fst a + fst b, snd a * snd b)) m) l.
Definition conv (A B : law) : law :=
  (conv_atoms (fst A) (fst B), snd A * tot B + E one (fst A) * snd B).

Lemma E_conv f l m : E f (conv_atoms l m) = E (fun z => E (fun y => f (z + y)) m) l.
Proof. induction l as [|a l IH]; simpl; [auto|]. rewrite E_app, IH; f_equal.
  clear; induction m as [|b m IH]; simpl; [|rewrite IH]; ring. Qed.
Lemma tot_conv A B : tot (conv A B) = tot A * tot B.
Proof. unfold tot at 1, conv; simpl. rewrite E_conv.
  change (fun z : R => E (fun y : R => one (z + y)) (fst B)) with (fun _ : R => E one (fst B)).
  rewrite E_const. unfold tot. ring. Qed.
Lemma delta_conv eps A B :
  delta eps (conv A B) = snd A * tot B + E (fun z => delta (eps - z) B) (fst A).
Proof. unfold delta at 1, conv; simpl. rewrite E_conv. unfold delta.
  rewrite (E_plus (fun _ => snd B) (fun z => E (w (eps - z)) (fst B))), (E_const (snd B)).
  rewrite (E_ext (fun z => E (fun y => w eps (z + y)) (fst B)) (fun z => E (w (eps - z)) (fst B))).
  - unfold tot; ring.
  - intros z; apply E_ext; intros y; apply w_shift. Qed.
Lemma delta_conv_comm eps A B : delta eps (conv A B) = delta eps (conv B A).
Proof. unfold delta, conv, tot; simpl. rewrite !E_conv.
  rewrite (fubini (fun z y => w eps (z + y))).
  rewrite (E_ext (fun y => E (fun z => w eps (z + y)) (fst A))
                 (fun y => E (fun z => w eps (y + z)) (fst A))).
  - ring.
  - intros; apply E_ext; intros; now rewrite Rplus_comm. Qed.

Lemma nn_conv l m : nn l -> nn m -> nn (conv_atoms l m).
Proof. intros Hl Hm; unfold nn, conv_atoms in *. rewrite Forall_forall in *.
  intros x Hx. apply in_flat_map in Hx as [a [Ha Hx]]. apply in_map_iff in Hx as [b [<- Hb]].
  simpl; apply Rmult_le_pos; auto. Qed.
Lemma fin_ge0 A : nonneg A -> 0 <= E one (fst A).
Proof. intros [H _]; apply E_ge0; auto; intros; unfold one; lra. Qed.
Lemma tot_ge0 A : nonneg A -> 0 <= tot A.
Proof. intros H; unfold tot; generalize (fin_ge0 A H); destruct H; lra. Qed.
Lemma nonneg_conv A B : nonneg A -> nonneg B -> nonneg (conv A B).
Proof. intros HA HB; split; simpl; [apply nn_conv; [apply HA|apply HB]|].
  apply Rplus_le_le_0_compat; apply Rmult_le_pos;
    auto using tot_ge0, fin_ge0; [apply HA|apply HB]. Qed.

(* ---------- dominance ---------- *)
Definition dom (A B : law) := (forall eps, delta eps A <= delta eps B) /\ tot A <= tot B.
Lemma dom_refl A : dom A A. Proof. split; intros; lra. Qed.
Lemma dom_trans A B C : dom A B -> dom B C -> dom A C.
Proof. intros [H1 H2] [H3 H4]; split; [intros e; specialize (H1 e); specialize (H3 e)|]; lra. Qed.

Lemma dom_conv_r A B B' : nonneg A -> dom B B' -> dom (conv A B) (conv A B').
Proof. intros HA [H1 H2]; split.
  - intros e; rewrite !delta_conv. apply Rplus_le_compat.
    + apply Rmult_le_compat_l; [apply HA|auto].
    + apply E_le; [apply HA|intros; apply H1].
  - rewrite !tot_conv; apply Rmult_le_compat_l; auto using tot_ge0. Qed.
Lemma dom_conv_swap A B : dom (conv A B) (conv B A).
Proof. split; [intros; rewrite delta_conv_comm|rewrite !tot_conv]; lra. Qed.
Lemma dom_conv_l A A' B : nonneg B -> dom A A' -> dom (conv A B) (conv A' B).
Proof. intros HB H. eapply dom_trans; [apply dom_conv_swap|]. eapply dom_trans; [apply dom_conv_r; eauto|].
  apply dom_conv_swap. Qed.
Theorem dom_conv A A' B B' :
  nonneg A -> nonneg B' -> dom A A' -> dom B B' -> dom (conv A B) (conv A' B').
Proof. intros HA HB' H1 H2. eapply dom_trans; [apply dom_conv_r; eauto|].
  eapply dom_trans; [apply dom_conv_swap|]. eapply dom_trans; [apply dom_conv_r; eauto|].
  apply dom_conv_swap. Qed.

Definition unit_law : law := ([(0, 1)], 0).
Fixpoint kfold (k : nat) (A : law) : law :=
  match k with O => unit_law | S k => conv A (kfold k A) end.
Lemma nonneg_unit : nonneg unit_law.
Proof. split; simpl; [constructor; [simpl; lra|constructor]|lra]. Qed.
Lemma nonneg_kfold k A : nonneg A -> nonneg (kfold k A).
Proof. intros; induction k; simpl; auto using nonneg_unit, nonneg_conv. Qed.
Theorem dom_kfold k A B : nonneg A -> nonneg B -> dom A B -> dom (kfold k A) (kfold k B).
Proof. intros; induction k; simpl; [apply dom_refl|].
  apply dom_conv; auto using nonneg_kfold. Qed.
(* composition with a dominating step after every convolution (re-rounding, truncation) *)
Inductive chain (A : law) : nat -> law -> Prop :=
| chain0 : chain A 0 unit_law
| chainS k C D : chain A k C -> nonneg D -> dom (conv A C) D -> chain A (S k) D.
Theorem chain_sound A k C : nonneg A -> chain A k C -> nonneg C /\ dom (kfold k A) C.
Proof. intros HA H; induction H as [|k C D H [IH1 IH2] HD Hd]; simpl.
  - split; [apply nonneg_unit|apply dom_refl].
  - split; auto. eapply dom_trans; [|apply Hd]. apply dom_conv_r; auto. Qed.
(* squaring *)
Theorem dom_square A C : nonneg A -> nonneg C -> dom A C -> dom (conv A A) (conv C C).
Proof. intros; apply dom_conv; auto. Qed.

(* ---------- elementary safe moves ---------- *)
Definition atom_le (a b : R * R) := fst a <= fst b /\ 0 <= snd a <= snd b.
Theorem dom_pointwise l m i j : Forall2 atom_le l m -> i <= j -> dom (l, i) (m, j).
Proof. intros H Hij.
  assert (G : forall f, (forall z, 0 <= f z) -> (forall z z', z <= z' -> f z <= f z') -> E f l <= E f m).
  { intros f H0 Hm; induction H as [|a b l m [H1 H2] H IH]; simpl; [lra|].
    assert (snd a * f (fst a) <= snd b * f (fst b)) by (apply Rmult_le_compat; auto; lra). lra. }
  split; [intros e; unfold delta|unfold tot]; simpl.
  - specialize (G (w e) (w_ge0 e) (w_mono e)). lra.
  - assert (E one l <= E one m) by (apply G; intros; unfold one; lra). lra. Qed.
Theorem dom_to_inf l z p m i : 0 <= p -> dom (l ++ (z, p) :: m, i) (l ++ m, i + p).
Proof. intros Hp; split; [intros e; unfold delta|unfold tot]; simpl; rewrite !E_app; simpl.
  - assert (p * w e z <= p * 1) by (apply Rmult_le_compat_l; auto using w_le1). lra.
  - unfold one; lra. Qed.
(* truncation: every atom satisfying b goes to infinity *)
Theorem dom_truncate (b : R * R -> bool) l i : nn l ->
  dom (l, i) (filter (fun a => negb (b a)) l, i + E one (filter b l)).
Proof. intros Hl; split.
  - intros e; unfold delta; simpl. induction Hl as [|a l Ha Hl IH]; simpl; [lra|].
    assert (snd a * w e (fst a) <= snd a * 1) by (apply Rmult_le_compat_l; auto using w_le1).
    destruct (b a); simpl; unfold one in *; lra.
  - unfold tot; simpl. induction l as [|a l IH]; simpl; [lra|].
    inversion Hl; subst. specialize (IH H2). destruct (b a); simpl; unfold one in *; lra. Qed.

(* rounding masses up to multiples of 2^-B *)
Definition rup (B : nat) (p : R) := IZR (Zceil (p * 2 ^ B)) / 2 ^ B.
Lemma rup_ge B p : p <= rup B p.
Proof. unfold rup. assert (0 < 2 ^ B) by (apply pow_lt; lra).
  apply Rmult_le_reg_r with (2 ^ B); auto. unfold Rdiv.
  rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. apply Zceil_ub. Qed.
Lemma rup_lt B p : rup B p < p + / 2 ^ B.
Proof. unfold rup. assert (0 < 2 ^ B) by (apply pow_lt; lra).
  assert (IZR (Zceil (p * 2 ^ B)) < p * 2 ^ B + 1).
  { unfold Zceil. rewrite opp_IZR. generalize (Zfloor_ub (- (p * 2 ^ B))); lra. }
  unfold Rdiv. apply Rmult_lt_reg_r with (2 ^ B); auto.
  rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_plus_distr_r, Rinv_l by lra. lra. Qed.
Definition round_law B (A : law) : law :=
  (map (fun a => (fst a, rup B (snd a))) (fst A), rup B (snd A)).
Theorem dom_round B A : nonneg A -> dom A (round_law B A).
Proof. destruct A as [l i]; intros [Hl Hi]; simpl in Hl, Hi; apply dom_pointwise; simpl; [|apply rup_ge].
  clear Hi; induction Hl as [|a l Ha Hl IH]; simpl; constructor; auto.
  split; simpl; [lra|]; split; auto; apply rup_ge. Qed.
Lemma nonneg_round B A : nonneg A -> nonneg (round_law B A).
Proof. destruct A as [l i]; intros [Hl Hi]; split; simpl in *;
  [|eapply Rle_trans; [|apply rup_ge]; auto].
  unfold nn in *; rewrite Forall_map; eapply Forall_impl; [|apply Hl].
  simpl; intros a Ha; eapply Rle_trans; [|apply rup_ge]; auto. Qed.
Corollary kfold_round B k A eps : nonneg A ->
  delta eps (kfold k A) <= delta eps (kfold k (round_law B A)).
Proof. intros; apply dom_kfold; auto using nonneg_round, dom_round. Qed.

(* ---------- any order of products ---------- *)
(* Laws with the same delta at every eps and the same total mass; binary powering needs associativity. *)
Definition same (A B : law) := (forall eps, delta eps A = delta eps B) /\ tot A = tot B.
Lemma same_dom A B : same A B -> dom A B.
Proof. intros [H1 H2]; split; [intros e; rewrite H1|rewrite H2]; lra. Qed.
Lemma same_sym A B : same A B -> same B A.
Proof. intros [H1 H2]; split; auto. Qed.
Lemma same_trans A B C : same A B -> same B C -> same A C.
Proof. intros [H1 H2] [H3 H4]; split; [intros e; rewrite H1; auto|congruence]. Qed.
Lemma same_comm A B : same (conv A B) (conv B A).
Proof. split; [intros; apply delta_conv_comm|rewrite !tot_conv; ring]. Qed.
Lemma same_assoc A B C : same (conv (conv A B) C) (conv A (conv B C)).
Proof. split; [intros e|rewrite !tot_conv; ring].
  unfold delta, conv, tot; simpl. rewrite !E_conv.
  rewrite (E_ext (fun z => E (fun y => w e (z + y)) (conv_atoms (fst B) (fst C)))
                 (fun z => E (fun y => E (fun x => w e (z + y + x)) (fst C)) (fst B))).
  2: { intros z; rewrite E_conv; apply E_ext; intros y; apply E_ext; intros x; f_equal; ring. }
  change (fun z => E (fun y => one (z + y)) (fst C)) with (fun _ : R => E one (fst C)).
  change (fun z => E (fun y => one (z + y)) (fst B)) with (fun _ : R => E one (fst B)).
  rewrite !E_const. ring. Qed.
Lemma same_conv_r A B B' : same B B' -> same (conv A B) (conv A B').
Proof. intros [H1 H2]; split; [intros e; rewrite !delta_conv, H2|rewrite !tot_conv, H2; auto].
  f_equal. apply E_ext; intros z; apply H1. Qed.
Lemma same_unit A : same (conv unit_law A) A.
Proof. split; [intros e; rewrite delta_conv|rewrite tot_conv]; unfold unit_law, tot, one; simpl;
  rewrite ?Rminus_0_r; ring. Qed.
Lemma kfold_add m n A : same (kfold (m + n) A) (conv (kfold m A) (kfold n A)).
Proof. induction m as [|m IH]; simpl.
  - apply same_sym, same_unit.
  - eapply same_trans; [apply same_conv_r, IH|apply same_sym, same_assoc]. Qed.
Lemma kfold_1 A : same (kfold 1 A) A.
Proof. simpl. eapply same_trans; [apply same_comm|apply same_unit]. Qed.

(* ---------- steps of several kinds ---------- *)
Fixpoint compose (l : list law) : law := match l with [] => unit_law | B :: l => conv B (compose l) end.
Lemma nonneg_compose l : Forall nonneg l -> nonneg (compose l).
Proof. intros H; induction H; simpl; auto using nonneg_unit, nonneg_conv. Qed.
Lemma compose_app l m : same (compose (l ++ m)) (conv (compose l) (compose m)).
Proof. induction l as [|B l IH]; simpl; [apply same_sym, same_unit|].
  eapply same_trans; [apply same_conv_r, IH|apply same_sym, same_assoc]. Qed.
Lemma compose_repeat B k : compose (repeat B k) = kfold k B.
Proof. induction k as [|k IH]; simpl; [auto|now rewrite IH]. Qed.
(* The order of the steps does not matter. *)
Theorem compose_permutation l m : Permutation l m -> same (compose l) (compose m).
Proof. intros H; induction H; simpl.
  - split; auto.
  - now apply same_conv_r.
  - eapply same_trans; [apply same_sym, same_assoc|]. eapply same_trans; [|apply same_assoc].
    eapply same_trans; [apply same_comm|]. eapply same_trans; [apply same_conv_r, same_comm|apply same_comm].
  - eapply same_trans; eauto. Qed.
