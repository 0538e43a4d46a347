(* 2. Privacy, and why the loss law is enough.

   P and Q: the output's probabilities on two neighbouring data sets, on a finite list l of outputs.
     HS eps  =  sum of (P x - e^eps Q x)_+  =  sup over events of P - e^eps Q            (HS_sup)
     HS eps <= d  <->  P event <= e^eps Q event + d for every event: (eps, d)-privacy    (HS_dp)
     HS eps  =  delta eps (the law of log (P/Q) under P)                                 (HS_pld)
   Composition: independent runs are convolutions exactly (product_exact, pow_exact); steps that are chosen after
   seeing earlier outputs are dominated by them (adaptive_sound, adaptive_kfold). *)
Require Import Reals List Lra.
From VerifiedDP Require Import Law.
Import ListNotations.
Open Scope R_scope.

Section Sum.
Context {T : Type}.
Fixpoint S (f : T -> R) (l : list T) : R := match l with [] => 0 | x :: l => f x + S f l end.
Lemma S_ext f g l : (forall x, f x = g x) -> S f l = S g l.
Proof. intros H; induction l as [|a l IH]; simpl; [auto|now rewrite H, IH]. Qed.
Lemma S_le f g l : (forall x, f x <= g x) -> S f l <= S g l.
Proof. intros H; induction l as [|a l IH]; simpl; [lra|]. specialize (H a); lra. Qed.
Lemma S_scal c f l : S (fun x => c * f x) l = c * S f l.
Proof. induction l as [|a l IH]; simpl; [|rewrite IH]; ring. Qed.
Lemma S_app f l m : S f (l ++ m) = S f l + S f m.
Proof. induction l as [|a l IH]; simpl; [|rewrite IH]; ring. Qed.

Variables P Q : T -> R.
Definition prob (D : T -> R) (ev : T -> bool) l := S (fun x => if ev x then D x else 0) l.
Definition HS (eps : R) (l : list T) := S (fun x => pos (P x - exp eps * Q x)) l.

Lemma HS_ub eps l ev : prob P ev l - exp eps * prob Q ev l <= HS eps l.
Proof. unfold prob, HS; induction l as [|x l IH]; simpl; [lra|].
  assert ((if ev x then P x else 0) - exp eps * (if ev x then Q x else 0) <= pos (P x - exp eps * Q x)).
  { destruct (ev x); unfold pos; [apply Rmax_r|]. rewrite Rmult_0_r, Rminus_0_r; apply Rmax_l. }
  lra. Qed.
Definition best eps x := if Rle_dec 0 (P x - exp eps * Q x) then true else false.
Lemma HS_attained eps l : prob P (best eps) l - exp eps * prob Q (best eps) l = HS eps l.
Proof. unfold prob, HS; induction l as [|x l IH]; simpl; [lra|]. rewrite <- IH; unfold best.
  destruct (Rle_dec 0 (P x - exp eps * Q x)); [rewrite pos_of_pos|rewrite pos_of_neg]; lra. Qed.
Theorem HS_sup eps l :
  is_lub (fun r => exists ev, r = prob P ev l - exp eps * prob Q ev l) (HS eps l).
Proof. split.
  - intros r [ev ->]; apply HS_ub.
  - intros b Hb; apply Hb. exists (best eps); now rewrite HS_attained. Qed.
Corollary HS_dp eps d l : HS eps l <= d <-> forall ev, prob P ev l <= exp eps * prob Q ev l + d.
Proof. split; intros H.
  - intros ev; generalize (HS_ub eps l ev); lra.
  - rewrite <- HS_attained; specialize (H (best eps)); lra. Qed.

Hypothesis HP : forall x, 0 <= P x.
Hypothesis HQ : forall x, 0 <= Q x.
(* the privacy-loss law of (P,Q) *)
Definition pl1 (x : T) : list (R * R) * R :=
  if Rlt_dec 0 (Q x) then
    if Rlt_dec 0 (P x) then ([(ln (P x / Q x), P x)], 0) else ([], 0)
  else ([], P x).
Fixpoint pld (l : list T) : law :=
  match l with [] => ([], 0)
  | x :: l => (fst (pl1 x) ++ fst (pld l), snd (pl1 x) + snd (pld l)) end.
Lemma nonneg_pld l : nonneg (pld l).
Proof. induction l as [|x l [H1 H2]]; split; simpl; try lra; [constructor| |].
  - unfold nn; apply Forall_app; split; [|apply H1]. unfold pl1.
    destruct (Rlt_dec 0 (Q x)); [destruct (Rlt_dec 0 (P x))|]; simpl; repeat constructor; simpl; auto.
  - unfold pl1. specialize (HP x).
    destruct (Rlt_dec 0 (Q x)); [destruct (Rlt_dec 0 (P x))|]; simpl; lra. Qed.
(* general transfer: integrating F against the loss law *)
Lemma pld_int (F : R -> R) Finf l :
  snd (pld l) * Finf + E F (fst (pld l)) =
  S (fun x => snd (pl1 x) * Finf + E F (fst (pl1 x))) l.
Proof. induction l as [|x l IH]; simpl; [ring|]. rewrite <- IH, E_app; ring. Qed.
Lemma tot_pld l : tot (pld l) = S P l.
Proof. unfold tot. rewrite <- (Rmult_1_r (snd _)), pld_int. apply S_ext; intros x. unfold pl1, one.
  specialize (HP x). specialize (HQ x).
  destruct (Rlt_dec 0 (Q x)); [destruct (Rlt_dec 0 (P x))|]; simpl; lra. Qed.
(* scaling identity *)
Lemma scale_loss eps p q p' q' : 0 < p -> 0 < q ->
  pos (p * p' - exp eps * (q * q')) = p * pos (p' - exp (eps - ln (p / q)) * q').
Proof. intros Hp Hq. rewrite pos_scal by lra. f_equal.
  replace (eps - ln (p / q)) with (eps + - ln (p / q)) by ring.
  rewrite exp_plus, exp_Ropp, exp_ln by (apply Rdiv_lt_0_compat; auto).
  field; lra. Qed.
Theorem HS_pld eps l : HS eps l = delta eps (pld l).
Proof. unfold delta. rewrite <- (Rmult_1_r (snd _)), pld_int. apply S_ext; intros x.
  specialize (HP x). specialize (HQ x). unfold pl1.
  destruct (Rlt_dec 0 (Q x)) as [q|q]; [destruct (Rlt_dec 0 (P x)) as [p|p]|]; simpl.
  - unfold w. generalize (scale_loss eps (P x) (Q x) 1 1 p q). rewrite !Rmult_1_r. intros ->. ring.
  - replace (P x) with 0 by lra. rewrite pos_of_neg; [ring|].
    assert (0 < exp eps * Q x) by (apply Rmult_lt_0_compat; auto using exp_pos). lra.
  - replace (Q x) with 0 by lra. rewrite pos_of_pos; lra. Qed.
End Sum.

(* ---------- composition ---------- *)
Section Comp.
Context {T U : Type}.
Variables (P Q : T -> R) (P' Q' : T -> U -> R).
Hypothesis HP : forall x, 0 <= P x.
Hypothesis HQ : forall x, 0 <= Q x.
Hypothesis HP' : forall x y, 0 <= P' x y.
Hypothesis HQ' : forall x y, 0 <= Q' x y.
Definition jP (a : T * U) := P (fst a) * P' (fst a) (snd a).
Definition jQ (a : T * U) := Q (fst a) * Q' (fst a) (snd a).
Lemma S_prod (f : T * U -> R) l m : S f (list_prod l m) = S (fun x => S (fun y => f (x, y)) m) l.
Proof. induction l as [|x l IH]; simpl; [auto|]. rewrite S_app, IH; f_equal.
  clear; induction m as [|y m IH]; simpl; [auto|now rewrite IH]. Qed.
Lemma HS_row eps x m :
  S (fun y => pos (jP (x, y) - exp eps * jQ (x, y))) m =
  snd (pl1 P Q x) * S (P' x) m + E (fun z => HS (P' x) (Q' x) (eps - z) m) (fst (pl1 P Q x)).
Proof. unfold pl1, HS, jP, jQ; simpl. specialize (HP x). specialize (HQ x).
  destruct (Rlt_dec 0 (Q x)) as [q|q]; [destruct (Rlt_dec 0 (P x)) as [p|p]|]; simpl.
  - rewrite Rmult_0_l, Rplus_0_l, Rplus_0_r, <- S_scal. apply S_ext; intros y. now apply scale_loss.
  - replace (P x) with 0 by lra. rewrite Rmult_0_l, Rplus_0_l.
    induction m as [|y m IH]; simpl; [auto|]. rewrite IH, pos_of_neg; [ring|].
    assert (0 <= exp eps * (Q x * Q' x y))
      by (apply Rmult_le_pos; [left; apply exp_pos|apply Rmult_le_pos; [lra|apply HQ']]). lra.
  - replace (Q x) with 0 by lra. rewrite <- S_scal, Rplus_0_r. apply S_ext; intros y.
    rewrite Rmult_0_l, Rmult_0_r, Rminus_0_r. apply pos_of_pos, Rmult_le_pos; auto. Qed.
(* adaptive composition: every second-stage pair dominated by B *)
Theorem adaptive_sound eps l m B :
  (forall x e, HS (P' x) (Q' x) e m <= delta e B) -> (forall x, S (P' x) m <= tot B) ->
  HS jP jQ eps (list_prod l m) <= delta eps (conv (pld P Q l) B).
Proof. intros H1 H2. unfold HS at 1. rewrite S_prod, delta_conv, pld_int. apply S_le; intros x.
  rewrite HS_row.
  assert (N : nonneg (pld P Q [x])) by now apply nonneg_pld. destruct N as [N1 N2]; simpl in *.
  rewrite app_nil_r in N1. rewrite Rplus_0_r in N2.
  apply Rplus_le_compat; [apply Rmult_le_compat_l; auto|]. apply E_le; auto. Qed.
End Comp.

Section Prod.
Context {T U : Type}.
Variables (P Q : T -> R) (P' Q' : U -> R).
Hypothesis HP : forall x, 0 <= P x.
Hypothesis HQ : forall x, 0 <= Q x.
Hypothesis HP' : forall x, 0 <= P' x.
Hypothesis HQ' : forall x, 0 <= Q' x.
Theorem product_exact eps l m :
  HS (jP P (fun _ => P')) (jQ Q (fun _ => Q')) eps (list_prod l m)
  = delta eps (conv (pld P Q l) (pld P' Q' m)).
Proof. unfold HS at 1. rewrite S_prod, delta_conv, pld_int. apply S_ext; intros x.
  rewrite (HS_row P Q (fun _ => P') (fun _ => Q')); auto. rewrite tot_pld by auto. f_equal.
  apply E_ext; intros z. now apply HS_pld. Qed.
End Prod.

(* k-fold product of one pair *)
Section Pow.
Context {T : Type}.
Variables (P Q : T -> R).
Hypothesis HP : forall x, 0 <= P x.
Hypothesis HQ : forall x, 0 <= Q x.
Fixpoint tup (k : nat) : Type := match k with O => unit | Datatypes.S k => (T * tup k)%type end.
Fixpoint powD (D : T -> R) (k : nat) : tup k -> R :=
  match k with O => fun _ => 1 | Datatypes.S k => fun a => D (fst a) * powD D k (snd a) end.
Fixpoint pows (l : list T) (k : nat) : list (tup k) :=
  match k with O => [tt] | Datatypes.S k => list_prod l (pows l k) end.
Lemma powD_ge0 D k a : (forall x, 0 <= D x) -> 0 <= powD D k a.
Proof. intros H; induction k; simpl; [lra|]. apply Rmult_le_pos; auto. Qed.
Theorem pow_exact eps l k :
  HS (powD P k) (powD Q k) eps (pows l k) = delta eps (kfold k (pld P Q l)).
Proof. revert eps; induction k as [|k IH]; intros eps; simpl.
  - unfold HS, delta, w; simpl. rewrite !Rmult_1_r, Rminus_0_r; ring.
  - etransitivity; [apply (product_exact P Q (powD P k) (powD Q k)); auto using powD_ge0|].
    rewrite !delta_conv. rewrite tot_pld by auto using powD_ge0. f_equal.
    + f_equal. clear IH eps. induction k; simpl.
      * unfold tot, one; simpl; ring.
      * rewrite S_prod; simpl. rewrite (S_ext _ (fun x => S (powD P k) (pows l k) * P x)).
        -- rewrite S_scal, IHk, tot_conv, tot_pld by auto; ring.
        -- intros x; rewrite S_scal; ring.
    + apply E_ext; intros z. rewrite <- IH. symmetry. apply HS_pld; auto using powD_ge0. Qed.
(* end-to-end: directed rounding gives a valid (eps,delta) guarantee for the k-fold product *)
Theorem accountant_sound eps d l k A : dom (pld P Q l) A -> nonneg A ->
  delta eps (kfold k A) <= d ->
  forall ev, prob (powD P k) ev (pows l k) <= exp eps * prob (powD Q k) ev (pows l k) + d.
Proof. intros HA NA Hd. apply HS_dp. rewrite pow_exact.
  eapply Rle_trans; [|apply Hd]. apply dom_kfold; auto. now apply nonneg_pld. Qed.
End Pow.

(* ---------- k adaptive steps ---------- *)
(* Each step's pair may depend on all earlier outputs (hist, the latest first): D hist x is the probability of x. *)
Section Adaptive.
Context {T : Type}.
Fixpoint run (D : list T -> T -> R) (k : nat) (hist : list T) : @tup T k -> R :=
  match k with O => fun _ => 1 | Datatypes.S k => fun a => D hist (fst a) * run D k (fst a :: hist) (snd a) end.
Variables (P Q : list T -> T -> R) (l : list T) (B : law).
Hypothesis HP : forall h x, 0 <= P h x.
Hypothesis HQ : forall h x, 0 <= Q h x.
Hypothesis HB : nonneg B.
Hypothesis step : forall h e, HS (P h) (Q h) e l <= delta e B.
Hypothesis step_tot : forall h, S (P h) l <= tot B.
Lemma run_ge0 D k : (forall h x, 0 <= D h x) -> forall h a, 0 <= run D k h a.
Proof. intros HD; induction k as [|k IH]; intros h a; simpl; [lra|]. apply Rmult_le_pos; auto. Qed.
Lemma run_tot k : forall h, S (run P k h) (pows l k) <= tot (kfold k B).
Proof. induction k as [|k IH]; intros h; cbn [pows kfold].
  - simpl. unfold tot, one; simpl; lra.
  - rewrite tot_conv. eapply Rle_trans; [right; apply (@S_prod T (tup k))|]. cbn [run fst snd].
    rewrite (S_ext _ (fun x => P h x * S (run P k (x :: h)) (pows l k))) by (intros; apply S_scal).
    apply Rle_trans with (S (fun x => tot (kfold k B) * P h x) l).
    + apply S_le; intros x. rewrite Rmult_comm. apply Rmult_le_compat_r; auto.
    + rewrite S_scal, Rmult_comm. apply Rmult_le_compat_r; [apply tot_ge0, nonneg_kfold; auto|auto]. Qed.
Theorem adaptive_kfold k : forall h eps, HS (run P k h) (run Q k h) eps (pows l k) <= delta eps (kfold k B).
Proof. induction k as [|k IH]; intros h eps; cbn [pows kfold].
  - unfold HS, delta, w; simpl. rewrite !Rmult_1_r, Rminus_0_r; lra.
  - eapply Rle_trans.
    + apply (adaptive_sound (P h) (Q h) (fun x => run P k (x :: h)) (fun x => run Q k (x :: h)));
        auto using run_ge0, run_tot.
    + apply dom_conv_l; auto using nonneg_kfold. split.
      * intros e. rewrite <- HS_pld by auto. apply step.
      * rewrite tot_pld by auto. apply step_tot. Qed.
Corollary adaptive_private eps d k : delta eps (kfold k B) <= d ->
  forall ev, prob (run P k []) ev (pows l k) <= exp eps * prob (run Q k []) ev (pows l k) + d.
Proof. intros Hd. apply HS_dp. eapply Rle_trans; [apply adaptive_kfold|auto]. Qed.
End Adaptive.
