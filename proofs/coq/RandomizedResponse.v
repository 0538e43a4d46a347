(* 4b. Randomised response, and the worst (eps, delta)-private pair (Kairouz, Oh, Viswanath).

   With probability d the output gives the data set away; otherwise it is a truthful bit with odds e^e : 1.
   `kov e d` is the law of its privacy loss (`kov_exact`); d = 0 is randomised response (`rr_exact`).
   Every pair that is (e, d)-private in both directions is dominated by it (`kov_dominates`), hence so is every
   k-fold composition of such a mechanism (`kov_kfold`). *)
Require Import Reals List Lra.
From VerifiedDP Require Import Law HockeyStick ConnectTheDots.
Import ListNotations.
Open Scope R_scope.

Definition truth (e : R) := exp e / (1 + exp e).
Definition kov (e d : R) : law := ([(e, (1 - d) * truth e); (- e, (1 - d) * (1 - truth e))], d).

Lemma truth_range e : 0 < truth e < 1.
Proof. unfold truth. assert (0 < exp e) by apply exp_pos. split.
  - apply Rmult_lt_0_compat; [auto|apply Rinv_0_lt_compat; lra].
  - apply Rmult_lt_reg_r with (1 + exp e); [lra|]. unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra. Qed.
Lemma truth_odds e : 1 - truth e = truth e * exp (- e).
Proof. unfold truth. rewrite exp_Ropp. assert (0 < exp e) by apply exp_pos. field; lra. Qed.
Lemma nonneg_kov e d : 0 <= d <= 1 -> nonneg (kov e d).
Proof. intros Hd. assert (T := truth_range e). split; simpl; [|lra].
  constructor; [|constructor; [|constructor]]; simpl; apply Rmult_le_pos; lra. Qed.
Lemma tot_kov e d : tot (kov e d) = 1.
Proof. unfold tot, kov, one; simpl; ring. Qed.

(* ---------- the mechanism ---------- *)
Inductive outcome := Yes | No | OnlyP | OnlyQ.
Definition outcomes := [Yes; No; OnlyP; OnlyQ].
Definition mP (e d : R) (x : outcome) :=
  match x with Yes => (1 - d) * truth e | No => (1 - d) * (1 - truth e) | OnlyP => d | OnlyQ => 0 end.
Definition mQ (e d : R) (x : outcome) :=
  match x with Yes => (1 - d) * (1 - truth e) | No => (1 - d) * truth e | OnlyP => 0 | OnlyQ => d end.
Lemma mP_ge0 e d x : 0 <= d <= 1 -> 0 <= mP e d x.
Proof. intros. assert (T := truth_range e). destruct x; simpl; try lra; apply Rmult_le_pos; lra. Qed.
Lemma mQ_ge0 e d x : 0 <= d <= 1 -> 0 <= mQ e d x.
Proof. intros. assert (T := truth_range e). destruct x; simpl; try lra; apply Rmult_le_pos; lra. Qed.
Theorem kov_exact e d eps : 0 <= d <= 1 -> HS (mP e d) (mQ e d) eps outcomes = delta eps (kov e d).
Proof. intros Hd. assert (T := truth_range e). assert (O := truth_odds e). assert (X := exp_pos eps).
  unfold HS, outcomes, delta, kov, w; simpl.
  assert (Y : pos ((1 - d) * truth e - exp eps * ((1 - d) * (1 - truth e))) = (1 - d) * truth e * pos (1 - exp (eps - e))).
  { rewrite pos_scal by (apply Rmult_le_pos; lra). f_equal.
    replace (eps - e) with (eps + - e) by ring. rewrite exp_plus, O. ring. }
  assert (N : pos ((1 - d) * (1 - truth e) - exp eps * ((1 - d) * truth e)) = (1 - d) * (1 - truth e) * pos (1 - exp (eps - - e))).
  { rewrite pos_scal by (apply Rmult_le_pos; lra). f_equal.
    replace (eps - - e) with (eps + e) by ring. rewrite exp_plus.
    assert (truth e = (1 - truth e) * exp e).
    { rewrite O, Rmult_assoc, <- exp_plus. replace (- e + e) with 0 by ring. rewrite exp_0; ring. }
    rewrite H at 2. ring. }
  rewrite Y, N, Rmult_0_r, Rminus_0_r, (pos_of_pos d) by lra.
  rewrite (pos_of_neg (0 - exp eps * d)); [ring|]. assert (0 <= exp eps * d) by (apply Rmult_le_pos; lra). lra. Qed.
Corollary rr_exact e eps : HS (mP e 0) (mQ e 0) eps outcomes = truth e * w eps e + (1 - truth e) * w eps (- e).
Proof. rewrite kov_exact by lra. unfold delta, kov; simpl. ring. Qed.

(* ---------- it is the worst ---------- *)
Section Worst.
Context {T : Type}.
Variables (P Q : T -> R) (l : list T).
Hypothesis HP : forall x, 0 <= P x.
Hypothesis HQ : forall x, 0 <= Q x.
Hypothesis P1 : S P l = 1.
Hypothesis Q1 : S Q l = 1.
Lemma HSa_antitone a b : a <= b -> HSa P Q l b <= HSa P Q l a.
Proof. intros H. unfold HSa. apply S_le; intros x. apply pos_le.
  assert (a * Q x <= b * Q x) by (apply Rmult_le_compat_r; auto). lra. Qed.
Lemma HSa_reverse a : 0 < a -> HSa P Q l a = 1 - a + a * HSa Q P l (/ a).
Proof. intros Ha. rewrite <- P1. replace (S P l - a) with (S P l - a * S Q l) by (rewrite Q1; ring).
  unfold HSa. clear P1 Q1. induction l as [|x m IH]; simpl; [ring|]. rewrite IH.
  assert (pos (P x - a * Q x) = P x - a * Q x + a * pos (Q x - / a * P x)); [|lra].
  rewrite pos_scal by lra. replace (a * (Q x - / a * P x)) with (- (P x - a * Q x)) by (field; lra).
  generalize (P x - a * Q x); intros u. destruct (Rle_dec 0 u).
  - rewrite pos_of_pos, pos_of_neg; lra.
  - rewrite pos_of_neg, pos_of_pos; lra. Qed.

Theorem kov_dominates e d : 0 <= e -> 0 <= d <= 1 -> HS P Q e l <= d -> HS Q P e l <= d ->
  forall eps, HS P Q eps l <= delta eps (kov e d).
Proof. intros He Hd H1 H2 eps.
  change (HSa P Q l (exp e) <= d) in H1. change (HSa Q P l (exp e) <= d) in H2.
  change (HSa P Q l (exp eps) <= delta eps (kov e d)).
  set (A := exp e) in *. set (x := exp eps). assert (PA : 0 < A) by apply exp_pos. assert (Px : 0 < x) by apply exp_pos.
  assert (A1 : 1 <= A) by (unfold A; rewrite <- exp_0; apply exp_le; auto).
  assert (T1 : truth e = A / (1 + A)) by reflexivity.
  assert (D : delta eps (kov e d) = d + (1 - d) * (A / (1 + A)) * pos (1 - x * / A) + (1 - d) * (/ (1 + A)) * pos (1 - x * A)).
  { unfold delta, kov, w; simpl. replace (eps - e) with (eps + - e) by ring. replace (eps - - e) with (eps + e) by ring.
    rewrite !exp_plus, exp_Ropp. fold x A. rewrite T1. replace (1 - A / (1 + A)) with (/ (1 + A)) by (field; lra). ring. }
  rewrite D. clear D.
  assert (K1 : 0 <= (1 - d) * (A / (1 + A))).
  { apply Rmult_le_pos; [lra|]. apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; lra]. }
  assert (K2 : 0 <= (1 - d) * / (1 + A)) by (apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; lra]).
  assert (N1 := Rmult_le_pos _ _ K1 (pos_ge0 (1 - x * / A))). assert (N2 := Rmult_le_pos _ _ K2 (pos_ge0 (1 - x * A))).
  destruct (Rle_lt_dec A x) as [C|C].
  { apply Rle_trans with (HSa P Q l A); [now apply HSa_antitone|lra]. }
  assert (L1 : pos (1 - x * / A) = 1 - x * / A).
  { apply pos_of_pos. assert (x * / A <= A * / A) by (apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|lra]).
    rewrite Rinv_r in H by lra. lra. }
  assert (IA : / A <= 1) by (rewrite <- Rinv_1; apply Rinv_le_contravar; lra).
  assert (RA : HSa P Q l (/ A) <= 1 - / A + / A * d).
  { rewrite HSa_reverse by (apply Rinv_0_lt_compat; lra). rewrite Rinv_involutive by lra.
    apply Rplus_le_compat_l, Rmult_le_compat_l; [left; apply Rinv_0_lt_compat; lra|auto]. }
  destruct (Rle_lt_dec (/ A) x) as [G|G].
  - (* between e^-e and e^e: below the chord *)
    assert (C2 : / A < A) by lra.
    eapply Rle_trans; [apply (HSa_chord2 P Q l (/ A) A x C2); lra|]. rewrite L1.
    apply Rle_trans with (((A - x) * (1 - / A + / A * d) + (x - / A) * d) / (A - / A)).
    + unfold Rdiv. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|].
      apply Rplus_le_compat; apply Rmult_le_compat_l; lra.
    + apply Rle_trans with (d + (1 - d) * (A / (1 + A)) * (1 - x * / A)); [|lra].
      right. assert (A <> 0) by lra. assert (1 + A <> 0) by lra.
      assert (Z : A * A - 1 <> 0).
      { intros Z. assert (W : A * (A - / A) = 0) by (rewrite Rmult_minus_distr_l, Rinv_r by lra; exact Z).
        apply Rmult_integral in W as [W|W]; lra. }
      field. auto.
  - (* below e^-e: reverse the pair *)
    assert (L2 : pos (1 - x * A) = 1 - x * A).
    { apply pos_of_pos. assert (x * A <= / A * A) by (apply Rmult_le_compat_r; lra). rewrite Rinv_l in H by lra. lra. }
    rewrite L1, L2, HSa_reverse by auto.
    assert (HSa Q P l (/ x) <= d).
    { apply Rle_trans with (HSa Q P l A); auto. unfold HSa. apply S_le; intros y. apply pos_le.
      assert (A <= / x). { rewrite <- (Rinv_involutive A) by lra. apply Rinv_le_contravar; lra. }
      assert (A * P y <= / x * P y) by (apply Rmult_le_compat_r; auto). lra. }
    assert (x * HSa Q P l (/ x) <= x * d) by (apply Rmult_le_compat_l; lra).
    apply Rle_trans with (1 - x + x * d); [lra|]. right. field; lra. Qed.

Theorem kov_kfold e d k : 0 <= e -> 0 <= d <= 1 -> HS P Q e l <= d -> HS Q P e l <= d ->
  forall eps, HS (powD P k) (powD Q k) eps (pows l k) <= delta eps (kfold k (kov e d)).
Proof. intros He Hd H1 H2 eps. rewrite pow_exact by auto.
  apply dom_kfold; [now apply nonneg_pld|now apply nonneg_kov|]. split.
  - intros x. rewrite <- HS_pld by auto. now apply kov_dominates.
  - rewrite tot_pld, P1, tot_kov by auto. lra. Qed.
End Worst.
