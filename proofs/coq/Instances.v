(* 18. Three compositions certified inside Coq, by vm_compute: no extraction, no OCaml.

   `response_private` is a complete privacy statement: the mechanism, its composition, the guarantee.  For the Gaussian
   law of 1024 points the statements are about the integer law in InstanceData.v alone; Mechanism.v speaks of the
   sampled Gaussian itself. *)
Require Import Reals ZArith List Lra Lia.
From Interval Require Import Tactic.
From VerifiedDP Require Import Law HockeyStick RandomizedResponse Kronecker Checker Link Bignum InstanceData.
Import ListNotations.
Open Scope R_scope.

(* ---------- the Gaussian law: sigma = 4, 16 steps, eps = 1; its delta is 0.12693673... ---------- *)
Theorem gaussian_certified_above : delta 1 (composed gaussian_above) <= 0.126953.
Proof. assert (A : accept_B gaussian_above = true) by (vm_cast_no_check (eq_refl true)).
  assert (K := accepted_B_above _ A eq_refl).
  replace (epsilon_of gaussian_above) with 1 in K by (unfold epsilon_of; simpl; field).
  eapply Rle_trans; [exact K|]. unfold unit_of. cbn [bound bits gaussian_above]. change (2 ^ 64)%Z with 18446744073709551616%Z.
  lra. Qed.
Theorem gaussian_certified_below : 0.126926 <= delta 1 (composed gaussian_below).
Proof. assert (A : accept_B gaussian_below = true) by (vm_cast_no_check (eq_refl true)).
  assert (K := accepted_B_below _ A eq_refl).
  replace (epsilon_of gaussian_below) with 1 in K by (unfold epsilon_of; simpl; field).
  eapply Rle_trans; [|exact K]. unfold unit_of. cbn [bound bits gaussian_below]. change (2 ^ 64)%Z with 18446744073709551616%Z.
  lra. Qed.

(* the law of the first kind of steps *)
Definition one_law (p : problem) : ilaw := match kinds p with k :: _ => step_law k | [] => {| low := 0; mass := []; inf := 0 |} end.

(* ---------- randomised response with odds e^(1/2) : 1, 16 times, eps = 2 ---------- *)
Lemma response_law : dom (kov (1/2) 0) (law_of (grid_step response) (unit_of response) (one_law response)).
Proof. apply (on_side_I Above); intros f Hf. unfold I, law_of, kov, grid_step, unit_of; simpl.
  change (2 ^ 60)%Z with 1152921504606846976%Z.
  assert (T1 : truth (1/2) <= 717646748685813856 / 1152921504606846976) by (unfold truth; interval with (i_prec 100)).
  assert (T2 : 1 - truth (1/2) <= 435274755921033121 / 1152921504606846976) by (unfold truth; interval with (i_prec 100)).
  replace (1 / 2 * -1) with (- (1/2)) by field. replace (1 / 2 * 1) with (1/2) by field.
  assert (F1 := Hf (1/2)). assert (F2 := Hf (- (1/2))).
  assert (G1 := Rmult_le_compat_r (f (1/2)) _ _ (proj1 F1) T1).
  assert (G2 := Rmult_le_compat_r (f (- (1/2))) _ _ (proj1 F2) T2). lra. Qed.
Theorem response_private : forall ev,
  prob (powD (mP (1/2) 0) 16) ev (pows outcomes 16)
  <= exp 2 * prob (powD (mQ (1/2) 0) 16) ev (pows outcomes 16) + 0.310999.
Proof. assert (A : accept_B response = true) by (vm_cast_no_check (eq_refl true)).
  assert (K := accepted_B_above _ A eq_refl).
  replace (epsilon_of response) with 2 in K by (unfold epsilon_of; simpl; field).
  assert (HP : forall x, 0 <= mP (1/2) 0 x) by (intros; apply mP_ge0; lra).
  assert (HQ : forall x, 0 <= mQ (1/2) 0 x) by (intros; apply mQ_ge0; lra).
  assert (D : dom (pld (mP (1/2) 0) (mQ (1/2) 0) outcomes) (kov (1/2) 0)).
  { split; [intros x; rewrite <- HS_pld, kov_exact by (auto; lra); lra|].
    rewrite tot_pld, tot_kov by auto. unfold outcomes; simpl. lra. }
  apply (accountant_sound _ _ HP HQ 2 0.310999 outcomes 16
           (law_of (grid_step response) (unit_of response) (one_law response))).
  - eapply dom_trans; [exact D|exact response_law].
  - apply good_nonneg; [reflexivity|]. split; [discriminate|split; [|discriminate]].
    repeat constructor; discriminate.
  - replace (kfold 16 _) with (composed response) by (symmetry; apply (compose_repeat _ 16)). eapply Rle_trans; [exact K|].
    unfold unit_of. cbn [bound bits response]. change (2 ^ 60)%Z with 1152921504606846976%Z. lra. Qed.
