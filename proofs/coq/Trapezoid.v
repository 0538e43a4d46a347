(* 20. The trapezoidal sum along a line is the aliased sum (T02), and what it tells of delta (T03 to T06).

   With M the transform of a law with finitely many atoms, z = c + 2 pi i m / X and n over all integers,
     (1/X) sum_m Re (M(z) e^(-z eps) / (z (z+1))) = sum_n e^(c n X) D(eps + n X),   D = delta of the atoms     (trapezoid)
   atom by atom, by Fourier.v.  The term n = 0 is D(eps), all others are at least 0, and moments bound them (aliases); where
   |M| <= B beyond the last frequency, what is left out is at most e^(-c eps) B / (pi w) (squares_rest).
     line_encloses: so a trapezoidal sum of m0 frequencies encloses delta of the k-fold composition of a law, M^k in place
       of M;
     line_any: the same for the loss L of outputs of any kind, output by output: what the sum of so many frequencies leaves
       out falls as e^(c L) / m, and is integrated;
     line_independent: and for the losses of k independent outputs, by the k-th power of one transform.
   That is a line witness where the transform is known exactly.  Nothing is said of how it is found by nodes (T08).
   LineChecker.v evaluates such a sum. *)
Require Import Reals List Lra Lia ZArith.
From Coquelicot Require Import Coquelicot.
From VerifiedDP Require Chernoff.
From VerifiedDP Require Import Law HockeyStick Integral Normal Space Fourier.
Import ListNotations.
Open Scope R_scope.

(* ---------- one atom on a line ---------- *)
(* Re (e^(z s) / (z (z+1))), z = c + i w *)
Definition on_line (c w s : R) : R := exp (c * s) * ((c * cos (w * s) + w * sin (w * s)) / (c ^ 2 + w ^ 2)
  - ((c + 1) * cos (w * s) + w * sin (w * s)) / ((c + 1) ^ 2 + w ^ 2)).
Section Atom.
Variables (c X s : R).
Hypothesis Hc : 0 < c.
Hypothesis HX : 0 < X.
Definition freq (m : nat) : R := 2 * PI * INR m / X.
Definition last_place : Z := (up (s / X) - 1)%Z.
Definition beyond_last : R := s / X - IZR last_place.
Lemma beyond_range : 0 <= beyond_last < 1.
Proof. unfold beyond_last, last_place. rewrite minus_IZR. destruct (archimed (s / X)) as [A B]. lra. Qed.
Let x := beyond_last.
Let a := c * X.
Let b := (c + 1) * X.
(* the term e^(c n X) D (n X) of the aliased sum *)
Definition alias (t : R) : R := exp (c * t) * w t s.
Lemma alias_ge0 t : 0 <= alias t.
Proof. apply Rmult_le_pos; [left; apply exp_pos|apply w_ge0]. Qed.
Definition aliased : R := exp (c * s) * (H x a - H x b).
Lemma place_of_s : s = (x + IZR last_place) * X.
Proof. unfold x, beyond_last. field. lra. Qed.
Lemma from_last : is_series (fun j => alias ((IZR last_place - INR j) * X)) aliased.
Proof. assert (A0 : 0 < a) by (apply Rmult_lt_0_compat; lra). assert (B0 : 0 < b) by (apply Rmult_lt_0_compat; lra). assert (XR := beyond_range). fold x in XR.
  assert (G : forall d, 0 < d -> is_series (fun j => exp (- (d * x)) * exp (- d) ^ j) (H x d)).
  { intros d D0. unfold H, Rdiv. apply (is_series_scal_l (exp (- (d * x))) (fun j => exp (- d) ^ j) (/ (1 - exp (- d)))). apply is_series_geom.
    assert (E := exp_pos (- d)). rewrite Rabs_pos_eq by lra. rewrite <- exp_0. apply exp_increasing. lra. }
  assert (K := is_series_minus _ _ _ _ (G a A0) (G b B0)). apply (is_series_scal_l (exp (c * s))) in K.
  eapply is_series_ext; [|exact K]. intros j. unfold scal, minus, plus, opp; simpl; unfold mult; simpl.
  assert (PW : forall d, exp (- d) ^ j = exp (- (d * INR j))).
  { intros d. clear. induction j as [|j IH]; [simpl; rewrite Rmult_0_r, Ropp_0; symmetry; apply exp_0|].
    rewrite S_INR. simpl. rewrite IH, <- exp_plus. f_equal. ring. }
  rewrite !PW, <- !exp_plus. unfold alias, w. rewrite pos_of_pos.
  - set (t := (IZR last_place - INR j) * X). assert (TS : t = s - (x + INR j) * X) by (unfold t; rewrite place_of_s at 1; ring).
    rewrite Rmult_minus_distr_l, Rmult_1_r, <- exp_plus. rewrite Rmult_plus_distr_l. rewrite <- Ropp_mult_distr_r, <- !exp_plus. rewrite TS. unfold a, b.
    replace (c * (s - (x + INR j) * X)) with (c * s + (- (c * X * x) + - (c * X * INR j))) by ring.
    replace (c * s + (- (c * X * x) + - (c * X * INR j)) + (s - (x + INR j) * X - s)) with (c * s + (- ((c + 1) * X * x) + - ((c + 1) * X * INR j))) by ring. ring.
  - assert (L : exp ((IZR last_place - INR j) * X - s) <= exp 0); [|rewrite exp_0 in L; lra]. apply exp_le. rewrite place_of_s. assert (P := pos_INR j). nra. Qed.
(* nothing is beyond the last place *)
Lemma from_any n : (last_place <= n)%Z -> is_series (fun j => alias ((IZR n - INR j) * X)) aliased.
Proof. intros L. replace n with (last_place + Z.of_nat (Z.to_nat (n - last_place)))%Z by lia. set (d := Z.to_nat (n - last_place)). clearbody d. clear L n.
  induction d as [|d IH].
  - eapply is_series_ext; [|exact from_last]. intros j. simpl. now rewrite Z.add_0_r.
  - apply is_series_decr_1. match goal with |- is_series _ ?v => replace v with aliased end.
    + eapply is_series_ext; [|exact IH]. intros j. cbv beta. f_equal. rewrite S_INR. rewrite !plus_IZR, <- !INR_IZR_INZ, S_INR. ring.
    + assert (Z0 : alias ((IZR (last_place + Z.of_nat (Datatypes.S d)) - INR 0) * X) = 0).
      { unfold alias, w. rewrite pos_of_neg; [ring|]. rewrite plus_IZR, <- INR_IZR_INZ, S_INR. simpl INR. assert (XR := beyond_range). fold x in XR.
        assert (E : exp 0 <= exp ((IZR last_place + (INR d + 1) - 0) * X - s)); [|rewrite exp_0 in E; lra]. apply exp_le. rewrite place_of_s. assert (P := pos_INR d). nra. }
      rewrite Z0. unfold plus, opp; simpl. ring. Qed.
Lemma cos_turns u (n : Z) : cos (u + 2 * PI * IZR n) = cos u /\ sin (u + 2 * PI * IZR n) = sin u.
Proof. assert (G : forall v k, cos (v + 2 * PI * INR k) = cos v /\ sin (v + 2 * PI * INR k) = sin v).
  { intros v k. replace (v + 2 * PI * INR k) with (v + 2 * INR k * PI) by ring. split; [apply cos_period|apply sin_period]. }
  destruct (Z_le_dec 0 n) as [P|P].
  - rewrite <- (Z2Nat.id n P), <- INR_IZR_INZ. apply G.
  - destruct (G (u + 2 * PI * IZR n) (Z.to_nat (- n))) as [C1 S1]. rewrite INR_IZR_INZ, Z2Nat.id, opp_IZR in C1, S1 by lia.
    replace (u + 2 * PI * IZR n + 2 * PI * - IZR n) with u in C1, S1 by ring. auto. Qed.
Lemma line_wave m : on_line c (freq m) s = exp (c * s) * (X * (wave x a m - wave x b m)).
Proof. unfold on_line. destruct (cos_turns (2 * PI * INR m * x) (Z.of_nat m * last_place)) as [C1 S1].
  assert (E : freq m * s = 2 * PI * INR m * x + 2 * PI * IZR (Z.of_nat m * last_place)).
  { rewrite mult_IZR, <- INR_IZR_INZ. unfold freq. rewrite place_of_s at 1. field. lra. }
  rewrite E, C1, S1. unfold wave. set (p := 2 * PI * INR m). f_equal. unfold freq. fold p. unfold a, b.
  assert (D1 : 0 < (c * X) ^ 2 + p ^ 2) by (assert (0 < c * X) by (apply Rmult_lt_0_compat; lra); nra).
  assert (D2 : 0 < ((c + 1) * X) ^ 2 + p ^ 2) by (assert (0 < (c + 1) * X) by (apply Rmult_lt_0_compat; lra); nra).
  assert (D3 : 0 < c ^ 2 + (p / X) ^ 2) by nra. assert (D4 : 0 < (c + 1) ^ 2 + (p / X) ^ 2) by nra. field. repeat split; nra. Qed.
Theorem atom_trapezoid : is_series (fun m => 2 / X * on_line c (freq (Datatypes.S m)) s) (aliased - / X * on_line c 0 s).
Proof. assert (A0 : 0 < a) by (apply Rmult_lt_0_compat; lra). assert (B0 : 0 < b) by (apply Rmult_lt_0_compat; lra).
  assert (K := atom_series x beyond_range a b A0 B0). apply (is_series_scal_l (2 * exp (c * s))) in K.
  match type of K with is_series _ ?v => replace v with (aliased - / X * on_line c 0 s) in K end.
  - eapply is_series_ext; [|exact K]. intros m. rewrite line_wave. unfold scal; simpl; unfold mult; simpl. field. lra.
  - unfold scal; simpl; unfold mult; simpl. unfold aliased, on_line. rewrite Rmult_0_l, cos_0, sin_0. unfold a, b. field. repeat split; nra. Qed.
End Atom.

(* ---------- laws with finitely many atoms ---------- *)
Definition cis (z : C) : C := (exp (fst z) * cos (snd z), exp (fst z) * sin (snd z)).
(* the transform, and what is summed *)
Definition transform (l : list (R * R)) (z : C) : C := (E (fun y => exp (fst z * y) * cos (snd z * y)) l, E (fun y => exp (fst z * y) * sin (snd z * y)) l).
Definition integrand (M : C) (eps : R) (z : C) : C := (M * cis (- (RtoC eps * z)) / (z * (z + 1)))%C.
Lemma integrand_line l eps c w : 0 < c -> Re (integrand (transform l (c, w)) eps (c, w)) = E (fun y => on_line c w (y - eps)) l.
Proof. intros Hc. assert (D1 : 0 < c ^ 2 + w ^ 2) by nra. assert (D2 : 0 < (c + 1) ^ 2 + w ^ 2) by nra.
  unfold integrand, transform, Cdiv, Re. cbn [fst snd]. set (e1 := fst (Cinv ((c, w) * ((c, w) + 1))%C)). set (e2 := snd (Cinv ((c, w) * ((c, w) + 1))%C)).
  assert (DD : (c * (c + 1) - w * w) ^ 2 + (c * w + w * (c + 1)) ^ 2 = (c ^ 2 + w ^ 2) * ((c + 1) ^ 2 + w ^ 2)) by ring.
  assert (E1 : e1 = c / (c ^ 2 + w ^ 2) - (c + 1) / ((c + 1) ^ 2 + w ^ 2)).
  { unfold e1, Cinv, Cmult, Cplus, RtoC; cbn [fst snd]. rewrite !Rplus_0_r. rewrite DD. field. split; lra. }
  assert (E2 : e2 = - w / (c ^ 2 + w ^ 2) + w / ((c + 1) ^ 2 + w ^ 2)).
  { unfold e2, Cinv, Cmult, Cplus, RtoC; cbn [fst snd]. rewrite !Rplus_0_r. rewrite DD. field. split; lra. }
  unfold Cmult at 1. cbn [fst snd]. unfold Cmult at 1 2. cbn [fst snd]. set (zz := Cinv _) in *. fold e1 e2.
  unfold cis. cbn [fst snd Copp Cmult RtoC]. 
  induction l as [|[y p] l IH]; cbn [E fst snd]; [ring|]. rewrite <- IH. unfold on_line. rewrite E1, E2.
  replace (- (eps * c - 0 * w)) with (- (c * eps)) by ring. replace (- (eps * w + 0 * c)) with (- (w * eps)) by ring.
  rewrite cos_neg, sin_neg. replace (c * (y - eps)) with (c * y + - (c * eps)) by ring. rewrite exp_plus.
  replace (w * (y - eps)) with (w * y - w * eps) by ring. rewrite cos_minus, sin_minus. field. split; lra. Qed.
Definition alias_sum (l : list (R * R)) (eps c X : R) (n : Z) (j : nat) : R := exp (c * ((IZR n - INR j) * X)) * E (w (eps + (IZR n - INR j) * X)) l.
Lemma series_E (f : nat -> R -> R) (v : R -> R) l : (forall a, In a l -> is_series (fun m => f m (fst a)) (v (fst a))) -> is_series (fun m => E (f m) l) (E v l).
Proof. induction l as [|a l IH]; intros HS; cbn [E].
  - apply series_add. apply (is_lim_seq_ext (fun _ => 0)); [|apply is_lim_seq_const]. intros n. induction n as [|n IH]; simpl; [auto|]. rewrite <- IH. ring.
  - apply (is_series_plus (fun m => snd a * f m (fst a)) (fun m => E (f m) l)).
    + apply (is_series_scal_l (snd a) (fun m => f m (fst a))). apply HS. now left.
    + apply IH. intros b Hb. apply HS. now right. Qed.
(* T02: the trapezoidal sum is the aliased sum; n is so large that nothing is beyond eps + n X. *)
Theorem trapezoid l eps c X n : 0 < c -> 0 < X -> (forall a, In a l -> fst a < eps + (IZR n + 1) * X) -> exists v,
  is_series (alias_sum l eps c X n) v /\
  is_series (fun m => 2 / X * Re (integrand (transform l (c, freq X (Datatypes.S m))) eps (c, freq X (Datatypes.S m)))) (v - / X * Re (integrand (transform l (c, 0)) eps (c, 0))).
Proof. intros Hc HX HN. exists (E (fun y => aliased c X (y - eps)) l). split.
  - apply (is_series_ext (fun j => E (fun y => alias c (y - eps) ((IZR n - INR j) * X)) l)).
    + intros j. unfold alias_sum, alias. rewrite E_scal. f_equal. apply E_ext. intros y. unfold w. do 3 f_equal. ring.
    + apply (series_E (fun j y => alias c (y - eps) ((IZR n - INR j) * X)) (fun y => aliased c X (y - eps))). intros a Ha. apply from_any; auto.
      specialize (HN a Ha). unfold last_place. assert (L : (fst a - eps) / X < IZR (n + 1)).
      { rewrite plus_IZR. apply Rmult_lt_reg_r with X; auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
      destruct (archimed ((fst a - eps) / X)) as [A B]. assert (UB : IZR (up ((fst a - eps) / X)) < IZR (n + 2)) by (rewrite plus_IZR in *; lra).
      assert (G := lt_IZR _ _ UB). lia.
  - rewrite integrand_line by auto. apply (is_series_ext (fun m => E (fun y => 2 / X * on_line c (freq X (Datatypes.S m)) (y - eps)) l)).
    + intros m. rewrite integrand_line by auto. apply E_scal.
    + replace (E (fun y => aliased c X (y - eps)) l - / X * E (fun y => on_line c 0 (y - eps)) l)
        with (E (fun y => aliased c X (y - eps) - / X * on_line c 0 (y - eps)) l).
      * apply (series_E (fun m y => 2 / X * on_line c (freq X (Datatypes.S m)) (y - eps)) (fun y => aliased c X (y - eps) - / X * on_line c 0 (y - eps))).
        intros a _. now apply atom_trapezoid.
      * rewrite (E_ext _ (fun y => aliased c X (y - eps) + - / X * on_line c 0 (y - eps))) by (intros; ring). rewrite E_plus, E_scal. ring. Qed.

(* ---------- tails: other aliases (T03, T04), frequencies that are left out (T05) ---------- *)
Lemma add_series (f : nat -> R) (v : R) : is_series f v -> is_lim_seq (add f) v.
Proof. intros H. apply is_lim_seq_incr_1. apply (is_lim_seq_ext (sum_n f)); [|exact H].
  intros n. induction n as [|n IH]; [rewrite sum_O; simpl; ring|rewrite sum_Sn, IH; reflexivity]. Qed.
Lemma add_ge0 f k : (forall j, 0 <= f j) -> 0 <= add f k.
Proof. intros F. induction k as [|k IH]; simpl; [lra|]. specialize (F k). lra. Qed.
Lemma series_between (f : nat -> R) v k : is_series f v -> (forall j, 0 <= f j) -> 0 <= v - add f k.
Proof. intros S F. assert (L := add_series f v S).
  assert (G : forall j, add f k <= add f (k + j)) by (induction j as [|j IH]; [rewrite Nat.add_0_r; lra|rewrite Nat.add_succ_r, add_S; specialize (F (k + j)%nat); lra]).
  assert (K : Rbar_le (add f k) v).
  { apply (is_lim_seq_le_loc (fun _ => add f k) (add f)); [|apply is_lim_seq_const|exact L]. exists k. intros n Hn. specialize (G (n - k)%nat). now replace (k + (n - k))%nat with n in G by lia. }
  simpl in K. lra. Qed.
(* what is left of a series beyond its first k members, each at most that of another series *)
Lemma series_rest (f g : nat -> R) v u k : is_series f v -> is_series g u -> (forall j, Rabs (f (k + j)%nat) <= g j) -> Rabs (v - add f k) <= u.
Proof. intros F G B. assert (LF : is_lim_seq (fun n => add f (k + n) - add f k) (v - add f k)).
  { apply is_lim_seq_minus'; [|apply is_lim_seq_const]. apply (is_lim_seq_ext (fun n => add f (n + k))); [intros; f_equal; lia|]. apply is_lim_seq_incr_n.
    now apply add_series. }
  assert (LG := add_series g u G).
  assert (Q : forall n, Rabs (add f (k + n) - add f k) <= add g n).
  { induction n as [|n IH]; [rewrite Nat.add_0_r, Rminus_eq_0, Rabs_R0; simpl; lra|]. rewrite Nat.add_succ_r, !add_S. specialize (B n).
    replace (add f (k + n) + f (k + n)%nat - add f k) with ((add f (k + n) - add f k) + f (k + n)%nat) by ring. eapply Rle_trans; [apply Rabs_triang|]. lra. }
  apply is_lim_seq_abs in LF. assert (K : Rbar_le (Rabs (v - add f k)) u) by (apply (is_lim_seq_le (fun n => Rabs (add f (k + n) - add f k)) (add g)); auto). exact K. Qed.
Lemma geometric_series d : 0 < d -> is_series (fun j => exp (- d) ^ (j + 1)) (exp (- d) / (1 - exp (- d))).
Proof. intros D. assert (E := exp_pos (- d)). assert (G : is_series (fun j => exp (- d) ^ j) (/ (1 - exp (- d)))).
  { apply is_series_geom. rewrite Rabs_pos_eq by lra. rewrite <- exp_0. apply exp_increasing. lra. }
  apply (is_series_scal_l (exp (- d))) in G. eapply is_series_ext; [|exact G]. intros j. unfold scal; simpl; unfold mult; simpl. rewrite pow_add. simpl. ring. Qed.
Lemma power_exp d j : exp (- d) ^ j = exp (- (d * INR j)).
Proof. induction j as [|j IH]; [simpl; rewrite Rmult_0_r, Ropp_0; symmetry; apply exp_0|]. rewrite S_INR. simpl. rewrite IH, <- exp_plus. f_equal. ring. Qed.
Section Line.
Variables (l : list (R * R)) (eps c X : R).
Hypothesis Hl : nn l.
Hypothesis Hc : 0 < c.
Hypothesis HX : 0 < X.
Lemma alias_sum_ge0 n j : 0 <= alias_sum l eps c X n j.
Proof. apply Rmult_le_pos; [left; apply exp_pos|]. apply E_ge0; auto. intros; apply w_ge0. Qed.
(* Chernoff's bound of one alias (T03) *)
Definition chernoff (r : R) : R := Chernoff.C r * Chernoff.M r l * exp (- r * eps).
Lemma alias_chernoff r t : 0 < r -> E (w (eps + t)) l <= chernoff r * exp (- (r * t)).
Proof. intros Hr. assert (K := Chernoff.delta_chernoff r (eps + t) l 0 Hr Hl). unfold delta in K. cbn [fst snd] in K. rewrite !Rplus_0_l in K. eapply Rle_trans; [exact K|]. right.
  unfold chernoff. replace (- r * (eps + t)) with (- r * eps + - (r * t)) by ring. rewrite exp_plus. ring. Qed.
Definition right_aliases (r : R) : R := chernoff r * (exp (- ((r - c) * X)) / (1 - exp (- ((r - c) * X)))).
Definition left_aliases (r : R) : R := chernoff r * (exp (- ((c - r) * X)) / (1 - exp (- ((c - r) * X)))).
Lemma chernoff_ge0 r : 0 < r -> 0 <= chernoff r.
Proof. intros Hr. unfold chernoff. apply Rmult_le_pos; [|left; apply exp_pos]. apply Rmult_le_pos; [left; apply Chernoff.C_pos|]. apply E_ge0; auto. intros; left; apply exp_pos. Qed.
Theorem aliases n r r' v : c < r -> 0 < r' < c -> is_series (alias_sum l eps c X (Z.of_nat n)) v ->
  E (w eps) l <= v <= E (w eps) l + right_aliases r + left_aliases r'.
Proof. intros Hr Hr' HS. assert (A0 := alias_sum_ge0 (Z.of_nat n)). set (f := alias_sum l eps c X (Z.of_nat n)) in *.
  assert (MID : f n = E (w eps) l).
  { unfold f, alias_sum. rewrite <- INR_IZR_INZ. replace ((INR n - INR n) * X) with 0 by ring. rewrite Rmult_0_r, exp_0, Rplus_0_r. ring. }
  assert (R0 : 0 <= add f n <= right_aliases r).
  { split; [now apply add_ge0|].
    set (d := (r - c) * X). assert (D : 0 < d) by (apply Rmult_lt_0_compat; lra).
    assert (G := geometric_series d D). assert (TOP : forall k, (k <= n)%nat -> add f n - add f (n - k) <= chernoff r * add (fun j => exp (- d) ^ (j + 1)) k).
    { induction k as [|k IH]; intros K; [rewrite Nat.sub_0_r; simpl; lra|]. specialize (IH ltac:(lia)). rewrite add_S.
      assert (E1 : add f (n - k) = add f (n - Datatypes.S k) + f (n - Datatypes.S k)%nat) by (replace (n - k)%nat with (Datatypes.S (n - Datatypes.S k)) by lia; reflexivity).
      assert (F1 : f (n - Datatypes.S k)%nat <= chernoff r * exp (- d) ^ (k + 1)); [|lra].
      unfold f, alias_sum. rewrite <- INR_IZR_INZ, minus_INR by lia. rewrite S_INR. replace ((INR n - (INR n - (INR k + 1))) * X) with ((INR k + 1) * X) by ring.
      assert (AC := alias_chernoff r ((INR k + 1) * X) ltac:(lra)). apply (Rmult_le_compat_l (exp (c * ((INR k + 1) * X)))) in AC; [|left; apply exp_pos].
      eapply Rle_trans; [exact AC|]. right. rewrite power_exp, plus_INR. simpl INR. unfold d.
      replace (exp (c * ((INR k + 1) * X)) * (chernoff r * exp (- (r * ((INR k + 1) * X))))) with (chernoff r * (exp (c * ((INR k + 1) * X)) * exp (- (r * ((INR k + 1) * X))))) by ring.
      rewrite <- exp_plus. do 2 f_equal. ring. }
    specialize (TOP n (Nat.le_refl n)). rewrite Nat.sub_diag in TOP. cbn [add] in TOP. assert (SB := series_between _ _ n G ltac:(intros; apply pow_le; left; apply exp_pos)).
    unfold right_aliases. fold d. assert (CH := chernoff_ge0 r ltac:(lra)). assert (chernoff r * add (fun j => exp (- d) ^ (j + 1)) n <= chernoff r * (exp (- d) / (1 - exp (- d)))) by (apply Rmult_le_compat_l; lra). lra. }
  assert (L0 : Rabs (v - add f (Datatypes.S n)) <= left_aliases r').
  { set (d := (c - r') * X). assert (D : 0 < d) by (apply Rmult_lt_0_compat; lra). assert (G := geometric_series d D). apply (is_series_scal_l (chernoff r')) in G.
    refine (series_rest f _ v _ (Datatypes.S n) HS G _). intros j. rewrite Rabs_pos_eq by auto. unfold f, alias_sum. rewrite <- INR_IZR_INZ, plus_INR, S_INR.
    replace ((INR n - (INR n + 1 + INR j)) * X) with (- ((INR j + 1) * X)) by ring. assert (AC := alias_chernoff r' (- ((INR j + 1) * X)) ltac:(lra)).
    apply (Rmult_le_compat_l (exp (c * - ((INR j + 1) * X)))) in AC; [|left; apply exp_pos]. eapply Rle_trans; [exact AC|]. right. unfold scal; simpl; unfold mult; simpl.
    rewrite power_exp, plus_INR. simpl INR. unfold d. replace (exp (c * - ((INR j + 1) * X)) * (chernoff r' * exp (- (r' * - ((INR j + 1) * X))))) with (chernoff r' * (exp (c * - ((INR j + 1) * X)) * exp (- (r' * - ((INR j + 1) * X))))) by ring.
    rewrite <- exp_plus. do 2 f_equal. ring. }
  assert (P := series_between f v (Datatypes.S n) HS A0). rewrite add_S, MID in *. apply Rabs_le_between in L0. lra. Qed.
End Line.
Lemma Re_mod z : Rabs (Re z) <= Cmod z.
Proof. assert (K := Rmax_Cmod z). assert (L := Rmax_l (Rabs (fst z)) (Rabs (snd z))). unfold Re. lra. Qed.
Lemma cis_mod z : Cmod (cis z) = exp (fst z).
Proof. unfold Cmod, cis. cbn [fst snd]. assert (B := sin2_cos2 (snd z)). unfold Rsqr in B. assert (P := exp_pos (fst z)).
  replace ((exp (fst z) * cos (snd z)) ^ 2 + (exp (fst z) * sin (snd z)) ^ 2) with (exp (fst z) * exp (fst z) * (sin (snd z) * sin (snd z) + cos (snd z) * cos (snd z))) by ring.
  rewrite B, Rmult_1_r. apply sqrt_square. lra. Qed.
Lemma integrand_small M eps c v B : 0 < c -> 0 < v -> Cmod M <= B -> Rabs (Re (integrand M eps (c, v))) <= exp (- (c * eps)) * B / v ^ 2.
Proof. intros Hc Hv HM. eapply Rle_trans; [apply Re_mod|]. unfold integrand.
  assert (N0 : forall u, 0 < u -> (u, v) <> RtoC 0) by (intros u U E; injection E; lra).
  assert (N1 : ((c, v) + 1)%C = (c + 1, v)) by (unfold Cplus, RtoC; cbn [fst snd]; f_equal; ring). rewrite N1.
  assert (NZ : ((c, v) * ((c + 1)%R, v))%C <> RtoC 0) by (apply Cmult_neq_0; apply N0; lra). rewrite Cmod_div by auto. rewrite !Cmod_mult, cis_mod.
  replace (fst (- (RtoC eps * (c, v)))%C) with (- (c * eps)) by (unfold Copp, Cmult, RtoC; cbn [fst snd]; ring).
  assert (V : forall u, v <= Cmod (u, v)) by (intros u; assert (K := Rmax_Cmod (u, v)); assert (L := Rmax_r (Rabs u) (Rabs v)); cbn [fst snd] in K; rewrite (Rabs_pos_eq v) in * by lra; lra).
  assert (V1 := V c). assert (V2 := V (c + 1)). assert (VV : v ^ 2 <= Cmod (c, v) * Cmod (c + 1, v)) by (replace (v ^ 2) with (v * v) by ring; apply Rmult_le_compat; lra).
  assert (X := exp_pos (- (c * eps))). assert (M0 := Cmod_ge_0 M). assert (V3 : 0 < v ^ 2) by nra. unfold Rdiv. apply Rmult_le_compat.
  - apply Rmult_le_pos; lra.
  - left. apply Rinv_0_lt_compat. lra.
  - rewrite (Rmult_comm (Cmod M)). apply Rmult_le_compat_l; lra.
  - apply Rinv_le_contravar; lra. Qed.
(* squares beyond m0 *)
Lemma squares_rest m0 (f : nat -> R) (v K : R) : (0 < m0)%nat -> is_series f v -> (forall j, Rabs (f (m0 + j)%nat) <= K / (INR (m0 + j) + 1) ^ 2) -> Rabs (v - add f m0) <= K / INR m0.
Proof. intros M HS B. assert (L : forall n, Rabs (add f (m0 + n) - add f m0) <= K * (/ INR m0 - / INR (m0 + n))).
  { induction n as [|n IH]; [rewrite Nat.add_0_r, !Rminus_eq_0, Rabs_R0; lra|]. rewrite Nat.add_succ_r, add_S, S_INR. specialize (B n). set (y := INR (m0 + n)) in *.
    assert (Y : 0 < y) by (apply lt_0_INR; lia). assert (K0 : 0 <= K) by (assert (Q := Rle_trans _ _ _ (Rabs_pos _) B); apply Rmult_le_reg_r with (/ (y + 1) ^ 2); [apply Rinv_0_lt_compat; nra|rewrite Rmult_0_l; exact Q]).
    replace (add f (m0 + n) + f (m0 + n)%nat - add f m0) with ((add f (m0 + n) - add f m0) + f (m0 + n)%nat) by ring. eapply Rle_trans; [apply Rabs_triang|].
    assert (Q : K / (y + 1) ^ 2 <= K * (/ y - / (y + 1))); [|lra]. unfold Rdiv. apply Rmult_le_compat_l; auto. replace (/ y - / (y + 1)) with (/ (y * (y + 1))) by (field; lra). apply Rinv_le_contravar; nra. }
  assert (LF : is_lim_seq (fun n => Rabs (add f (m0 + n) - add f m0)) (Rabs (v - add f m0))).
  { apply (is_lim_seq_abs _ (v - add f m0)). apply is_lim_seq_minus'; [|apply is_lim_seq_const]. apply (is_lim_seq_ext (fun n => add f (n + m0))); [intros; f_equal; lia|]. apply is_lim_seq_incr_n.
    now apply add_series. }
  assert (K0 : 0 <= K) by (assert (Q := Rle_trans _ _ _ (Rabs_pos _) (B O)); apply Rmult_le_reg_r with (/ (INR (m0 + 0) + 1) ^ 2); [apply Rinv_0_lt_compat; assert (P := pos_INR (m0 + 0)); nra|rewrite Rmult_0_l; exact Q]).
  assert (G : Rbar_le (Rabs (v - add f m0)) (K / INR m0)); [|exact G]. apply (is_lim_seq_le (fun n => Rabs (add f (m0 + n) - add f m0)) (fun _ => K / INR m0)); [|exact LF|apply is_lim_seq_const]. intros n. eapply Rle_trans; [apply L|].
  unfold Rdiv. apply Rmult_le_compat_l; auto. assert (0 < / INR (m0 + n)) by (apply Rinv_0_lt_compat, lt_0_INR; lia). lra. Qed.

(* ---------- the whole witness ---------- *)
Fixpoint cpow (z : C) (k : nat) : C := match k with O => RtoC 1 | Datatypes.S k => (z * cpow z k)%C end.
Lemma transform_conv l m z : transform (conv_atoms l m) z = (transform l z * transform m z)%C.
Proof. unfold transform, Cmult. cbn [fst snd]. rewrite !E_conv. set (c := fst z). set (v := snd z).
  set (A := E (fun y => exp (c * y) * cos (v * y)) m). set (B := E (fun y => exp (c * y) * sin (v * y)) m). f_equal.
  - rewrite (E_ext _ (fun y => A * (exp (c * y) * cos (v * y)) + - B * (exp (c * y) * sin (v * y)))); [rewrite E_plus, !E_scal; ring|].
    intros y. unfold A, B. rewrite (Rmult_comm (E _ m)), <- (E_scal (exp (c * y) * cos (v * y))). replace (- E _ m * _) with (- (exp (c * y) * sin (v * y)) * E (fun y => exp (c * y) * sin (v * y)) m) by ring. rewrite <- E_scal, <- E_plus.
    apply E_ext. intros u. replace (c * (y + u)) with (c * y + c * u) by ring. replace (v * (y + u)) with (v * y + v * u) by ring. rewrite exp_plus, cos_plus. ring.
  - rewrite (E_ext _ (fun y => B * (exp (c * y) * cos (v * y)) + A * (exp (c * y) * sin (v * y)))); [rewrite E_plus, !E_scal; ring|].
    intros y. unfold A, B. rewrite (Rmult_comm (E _ m)), <- (E_scal (exp (c * y) * cos (v * y))), (Rmult_comm (E _ m)), <- (E_scal (exp (c * y) * sin (v * y))), <- E_plus.
    apply E_ext. intros u. replace (c * (y + u)) with (c * y + c * u) by ring. replace (v * (y + u)) with (v * y + v * u) by ring. rewrite exp_plus, sin_plus. ring. Qed.
Lemma transform_kfold A k z : transform (fst (kfold k A)) z = cpow (transform (fst A) z) k.
Proof. induction k as [|k IH]; [|cbn [kfold conv fst cpow]; now rewrite transform_conv, IH].
  cbn [kfold unit_law fst cpow]. unfold transform, RtoC. cbn [E fst snd]. rewrite !Rmult_0_r, exp_0, cos_0, sin_0. f_equal; ring. Qed.
Lemma largest (l : list (R * R)) eps X : 0 < X -> exists n : nat, forall a, In a l -> fst a < eps + (INR n + 1) * X.
Proof. intros HX. induction l as [|a l [n IH]]; [exists O; intros a []|]. destruct (nfloor_ex (Rabs ((fst a - eps) / X)) (Rabs_pos _)) as [m [_ Hm]].
  exists (Nat.max n m). assert (L1 := le_INR _ _ (Nat.le_max_l n m)). assert (L2 := le_INR _ _ (Nat.le_max_r n m)). intros b [<-|Hb].
  - assert (Q := Rle_abs ((fst a - eps) / X)). assert (P : (fst a - eps) / X < INR (Nat.max n m) + 1) by lra. apply (Rmult_lt_compat_r X) in P; auto. unfold Rdiv in P. rewrite Rmult_assoc, Rinv_l in P; lra.
  - specialize (IH b Hb). assert ((INR n + 1) * X <= (INR (Nat.max n m) + 1) * X) by (apply Rmult_le_compat_r; lra). lra. Qed.
(* The trapezoidal sum of m0 frequencies on either side of 0, along the line of c, of the k-fold composition of a law. *)
Definition trapezoidal (A : law) (k : nat) (eps c X : R) (m0 : nat) : R := let G v := Re (integrand (cpow (transform (fst A) (c, v)) k) eps (c, v)) in
  / X * (G 0 + 2 * add (fun m => G (freq X (Datatypes.S m))) m0).
Theorem line_encloses (A : law) k eps c r r' X m0 B : nonneg A -> 0 < r' -> r' < c -> c < r -> 0 < X -> (0 < m0)%nat ->
  (forall m, (m0 <= m)%nat -> Cmod (cpow (transform (fst A) (c, freq X (Datatypes.S m))) k) <= B) ->
  let K := kfold k A in let T := snd K + trapezoidal A k eps c X m0 in let tail := exp (- (c * eps)) * B / (PI * freq X m0) in
  T - tail - right_aliases (fst K) eps c X r - left_aliases (fst K) eps c X r' <= delta eps K <= T + tail.
Proof. intros HA Hr' Hc' Hr HX HM HB K T tail. assert (Hc : 0 < c) by lra. destruct (nonneg_kfold k A HA) as [NL _]. fold K in NL. destruct (largest (fst K) eps X HX) as [n Hn].
  assert (HN : forall a, In a (fst K) -> fst a < eps + (IZR (Z.of_nat n) + 1) * X) by (intros a Ha; rewrite <- INR_IZR_INZ; auto).
  destruct (trapezoid (fst K) eps c X (Z.of_nat n) Hc HX HN) as [v [S1 S2]].
  destruct (aliases (fst K) eps c X NL Hc HX n r r' v Hr (conj Hr' Hc') S1) as [V1 V2].
  set (f := fun m => 2 / X * Re (integrand (transform (fst K) (c, freq X (Datatypes.S m))) eps (c, freq X (Datatypes.S m)))) in *.
  set (g0 := Re (integrand (transform (fst K) (c, 0)) eps (c, 0))) in *. assert (PP := PI_RGT_0).
  assert (TE : T = snd K + (/ X * g0 + add f m0)).
  { unfold T, trapezoidal, f, g0, K. rewrite <- transform_kfold, add_scal. f_equal.
    rewrite (add_ext (fun m => Re (integrand (cpow (transform (fst A) (c, freq X (Datatypes.S m))) k) eps (c, freq X (Datatypes.S m))))
      (fun m => Re (integrand (transform (fst (kfold k A)) (c, freq X (Datatypes.S m))) eps (c, freq X (Datatypes.S m))))) by (intros; now rewrite transform_kfold). field. lra. }
  assert (M0 : 0 < INR m0) by (apply lt_0_INR; lia).
  assert (TL : Rabs (v - / X * g0 - add f m0) <= tail).
  { replace tail with (exp (- (c * eps)) * B * X / (2 * PI ^ 2) / INR m0) by (unfold tail, freq; field; repeat split; lra). apply (squares_rest m0 f (v - / X * g0)); auto.
    intros j. unfold f. rewrite Rabs_mult, (Rabs_pos_eq (2 / X)) by (left; apply Rdiv_lt_0_compat; lra). set (m := (m0 + j)%nat). assert (M1 : 0 < INR m + 1) by (assert (P := pos_INR m); lra).
    assert (FP : 0 < freq X (Datatypes.S m)) by (unfold freq; rewrite S_INR; apply Rdiv_lt_0_compat; nra). specialize (HB m ltac:(unfold m; lia)). unfold K. rewrite transform_kfold.
    assert (Q := integrand_small _ eps c _ B Hc FP HB). apply (Rmult_le_compat_l (2 / X)) in Q; [|left; apply Rdiv_lt_0_compat; lra]. eapply Rle_trans; [exact Q|]. right. unfold freq. rewrite S_INR. field. repeat split; lra. }
  unfold delta. apply Rabs_le_between in TL. lra. Qed.
(* B may always be the moment at c. *)
Lemma transform_mod l z : nn l -> Cmod (transform l z) <= Chernoff.M (fst z) l.
Proof. intros H. unfold Chernoff.M. induction H as [|[y p] l Hp H IH]; cbn [E fst snd] in *.
  - change (transform [] z) with (RtoC 0). rewrite Cmod_0. lra.
  - replace (transform ((y, p) :: l) z) with (RtoC p * cis (fst z * y, snd z * y)%R + transform l z)%C.
    + eapply Rle_trans; [apply Cmod_triangle|]. rewrite Cmod_mult, Cmod_R, Rabs_pos_eq, cis_mod by auto. cbn [fst]. lra.
    + unfold transform, Cplus, Cmult, RtoC, cis. cbn [E fst snd]. f_equal; ring. Qed.
Lemma cpow_mod z k b : Cmod z <= b -> Cmod (cpow z k) <= b ^ k.
Proof. intros H. induction k as [|k IH]; cbn [cpow pow]; [rewrite Cmod_1; lra|]. rewrite Cmod_mult. apply Rmult_le_compat; auto using Cmod_ge_0. Qed.

(* ---------- outputs of any kind ---------- *)
(* The same, output by output, and then the integral: no law need be finite. *)
Definition line_sum (c X s : R) (m1 : nat) : R := / X * on_line c 0 s + add (fun m => 2 / X * on_line c (freq X (Datatypes.S m)) s) m1.
Lemma on_line_one c v s : 0 < c -> on_line c v s = Re (integrand (transform [(s, 1)] (c, v)) 0 (c, v)).
Proof. intros Hc. rewrite integrand_line by auto. cbn [E fst snd]. rewrite Rminus_0_r. ring. Qed.
Lemma on_line_small c v s : 0 < c -> 0 < v -> Rabs (on_line c v s) <= exp (c * s) / v ^ 2.
Proof. intros Hc Hv. rewrite on_line_one by auto. assert (N : nn [(s, 1)]) by (repeat constructor; simpl; lra). assert (TM := transform_mod [(s, 1)] (c, v) N).
  unfold Chernoff.M in TM. cbn [E fst snd] in TM. assert (K := integrand_small _ 0 c v _ Hc Hv TM). replace (exp (- (c * 0)) * (1 * exp (c * s) + 0)) with (exp (c * s)) in K by (rewrite Rmult_0_r, Ropp_0, exp_0; ring). exact K. Qed.
Section Pointwise.
Variables (c r r' X s : R).
Hypothesis Hr' : 0 < r' < c.
Hypothesis Hr : c < r.
Hypothesis HX : 0 < X.
Let ratio d := exp (- (d * X)) / (1 - exp (- (d * X))).
Lemma line_sum_near m1 : (0 < m1)%nat -> Rabs (aliased c X s - line_sum c X s m1) <= exp (c * s) * (X / (2 * PI ^ 2)) / INR m1.
Proof. intros M. assert (Hc : 0 < c) by lra. assert (PP := PI_RGT_0). unfold line_sum. replace (aliased c X s - (/ X * on_line c 0 s + _)) with (aliased c X s - / X * on_line c 0 s - add (fun m => 2 / X * on_line c (freq X (Datatypes.S m)) s) m1) by ring.
  apply squares_rest; [auto|now apply atom_trapezoid|]. intros j. set (m := (m1 + j)%nat). assert (M1 : 0 < INR m + 1) by (assert (P := pos_INR m); lra).
  assert (FP : 0 < freq X (Datatypes.S m)) by (unfold freq; rewrite S_INR; apply Rdiv_lt_0_compat; nra).
  rewrite Rabs_mult, (Rabs_pos_eq (2 / X)) by (left; apply Rdiv_lt_0_compat; lra). assert (Q := on_line_small c _ s Hc FP). apply (Rmult_le_compat_l (2 / X)) in Q; [|left; apply Rdiv_lt_0_compat; lra].
  eapply Rle_trans; [exact Q|]. right. unfold freq. rewrite S_INR. field. repeat split; lra. Qed.
Lemma aliased_near : w 0 s <= aliased c X s <= w 0 s + Chernoff.C r * exp (r * s) * ratio (r - c) + Chernoff.C r' * exp (r' * s) * ratio (c - r').
Proof. assert (Hc : 0 < c) by lra. assert (N : nn [(s, 1)]) by (repeat constructor; simpl; lra).
  assert (L : (last_place X s <= Z.of_nat (Z.to_nat (last_place X s)))%Z) by lia. assert (F := from_any c X s Hc HX _ L).
  assert (F' : is_series (alias_sum [(s, 1)] 0 c X (Z.of_nat (Z.to_nat (last_place X s)))) (aliased c X s)).
  { assert (EX : forall j, alias c s ((IZR (Z.of_nat (Z.to_nat (last_place X s))) - INR j) * X) = alias_sum [(s, 1)] 0 c X (Z.of_nat (Z.to_nat (last_place X s))) j).
    { intros j. unfold alias_sum, alias. cbn [E fst snd]. rewrite Rplus_0_l. ring. }
    eapply is_series_ext; [exact EX|exact F]. }
  destruct (aliases [(s, 1)] 0 c X N Hc HX _ r r' _ Hr Hr' F') as [V1 V2]. cbn [E fst snd] in V1, V2. unfold right_aliases, left_aliases, chernoff, Chernoff.M in V2. cbn [E fst snd] in V2.
  rewrite !Rmult_0_r, exp_0 in V2. unfold ratio. replace ((c - r') * X) with ((c - r') * X) in * by ring. lra. Qed.
End Pointwise.
Section AnyLaw.
Context {T : Type} (A : integral T) (P L : T -> R) (eps c r r' X : R).
Hypothesis P0 : forall x, 0 <= P x.
Hypothesis Hr' : 0 < r' < c.
Hypothesis Hr : c < r.
Hypothesis HX : 0 < X.
Variables (Mc Mr Mr' D B : R) (G : nat -> R).
(* moments of the loss at c, right and left of it, delta, and the transform's part at each frequency *)
Hypothesis IC : is_int A (fun x => P x * exp (c * L x)) Mc.
Hypothesis IR : is_int A (fun x => P x * exp (r * L x)) Mr.
Hypothesis IR' : is_int A (fun x => P x * exp (r' * L x)) Mr'.
Hypothesis ID : is_int A (fun x => P x * w eps (L x)) D.
Hypothesis IG : forall m, is_int A (fun x => P x * on_line c (freq X m) (L x - eps)) (G m).
Variable m0 : nat.
Hypothesis some : (0 < m0)%nat.
Hypothesis small : forall m, (m0 <= m)%nat -> Rabs (G (Datatypes.S m)) <= exp (- (c * eps)) * B / freq X (Datatypes.S m) ^ 2.
Let sums m1 := / X * (G O + 2 * add (fun m => G (Datatypes.S m)) m1).
Let ratio d := exp (- (d * X)) / (1 - exp (- (d * X))).
Lemma shifted_moment q M : is_int A (fun x => P x * exp (q * L x)) M -> is_int A (fun x => P x * exp (q * (L x - eps))) (exp (- (q * eps)) * M).
Proof. intros I. apply (int_ext A (fun x => exp (- (q * eps)) * (P x * exp (q * L x)))); [|now apply int_scal]. intros x.
  replace (q * (L x - eps)) with (- (q * eps) + q * L x) by ring. rewrite exp_plus. ring. Qed.
Lemma sums_int m1 : is_int A (fun x => P x * line_sum c X (L x - eps) m1) (sums m1).
Proof. unfold sums, line_sum. induction m1 as [|m1 IH]; cbn [add].
  - replace (/ X * (G O + 2 * 0)) with (/ X * G O) by ring. apply (int_ext A (fun x => / X * (P x * on_line c (freq X O) (L x - eps)))); [|now apply int_scal].
    intros x. unfold freq. replace (2 * PI * INR 0 / X) with 0 by (simpl; unfold Rdiv; ring). ring.
  - replace (/ X * (G O + 2 * (add (fun m => G (Datatypes.S m)) m1 + G (Datatypes.S m1)))) with (/ X * (G O + 2 * add (fun m => G (Datatypes.S m)) m1) + 2 / X * G (Datatypes.S m1)) by (unfold Rdiv; ring).
    apply (int_ext A (fun x => P x * (/ X * on_line c 0 (L x - eps) + add (fun m => 2 / X * on_line c (freq X (Datatypes.S m)) (L x - eps)) m1)
      + 2 / X * (P x * on_line c (freq X (Datatypes.S m1)) (L x - eps)))); [intros; ring|]. apply int_plus; [exact IH|now apply int_scal]. Qed.
Lemma sums_near m1 : (m0 <= m1)%nat -> Rabs (sums m1 - sums m0) <= exp (- (c * eps)) * B / (PI * freq X m0).
Proof. intros H. assert (PP := PI_RGT_0). assert (M0 : 0 < INR m0) by (apply lt_0_INR; lia). set (K := exp (- (c * eps)) * B * X / (2 * PI ^ 2)).
  assert (Q : forall n, Rabs (sums (m0 + n) - sums m0) <= K * (/ INR m0 - / INR (m0 + n))).
  { induction n as [|n IH]; [rewrite Nat.add_0_r, !Rminus_eq_0, Rabs_R0; lra|]. rewrite Nat.add_succ_r. unfold sums in *. rewrite add_S, S_INR. set (m := (m0 + n)%nat) in *.
    assert (S1 := small m ltac:(unfold m; lia)). assert (Y : 0 < INR m) by (apply lt_0_INR; unfold m; lia).
    assert (S2 : 2 / X * Rabs (G (Datatypes.S m)) <= K / (INR m + 1) ^ 2).
    { apply (Rmult_le_compat_l (2 / X)) in S1; [|left; apply Rdiv_lt_0_compat; lra]. eapply Rle_trans; [exact S1|]. right. unfold K, freq. rewrite S_INR. field. repeat split; lra. }
    assert (K0 : 0 <= K) by (assert (Z := Rabs_pos (G (Datatypes.S m))); assert (Z2 : 0 <= 2 / X * Rabs (G (Datatypes.S m))) by (apply Rmult_le_pos; [left; apply Rdiv_lt_0_compat; lra|auto]);
      apply Rmult_le_reg_r with (/ (INR m + 1) ^ 2); [apply Rinv_0_lt_compat; nra|rewrite Rmult_0_l; unfold Rdiv in S2; lra]).
    replace (/ X * (G O + 2 * (add (fun m => G (Datatypes.S m)) m + G (Datatypes.S m))) - / X * (G O + 2 * add (fun m => G (Datatypes.S m)) m0))
      with ((/ X * (G O + 2 * add (fun m => G (Datatypes.S m)) m) - / X * (G O + 2 * add (fun m => G (Datatypes.S m)) m0)) + 2 / X * G (Datatypes.S m)) by (unfold Rdiv; ring).
    eapply Rle_trans; [apply Rabs_triang|]. rewrite (Rabs_mult (2 / X)), (Rabs_pos_eq (2 / X)) by (left; apply Rdiv_lt_0_compat; lra).
    assert (S3 : K / (INR m + 1) ^ 2 <= K * (/ INR m - / (INR m + 1))); [|lra]. unfold Rdiv. apply Rmult_le_compat_l; auto.
    replace (/ INR m - / (INR m + 1)) with (/ (INR m * (INR m + 1))) by (field; lra). apply Rinv_le_contravar; nra. }
  specialize (Q (m1 - m0)%nat). replace (m0 + (m1 - m0))%nat with m1 in Q by lia. eapply Rle_trans; [exact Q|].
  replace (exp (- (c * eps)) * B / (PI * freq X m0)) with (K * / INR m0) by (unfold K, freq; field; repeat split; lra).
  assert (I1 : 0 < / INR m1) by (apply Rinv_0_lt_compat, lt_0_INR; lia). assert (IM : / INR m1 <= / INR m0) by (apply Rinv_le_contravar; [auto|now apply le_INR]).
  assert (K0 : 0 <= K).
  { assert (S1 := small m0 (Nat.le_refl _)). assert (Z := Rabs_pos (G (Datatypes.S m0))). assert (FP : 0 < freq X (Datatypes.S m0)) by (unfold freq; rewrite S_INR; apply Rdiv_lt_0_compat; nra).
    assert (0 <= exp (- (c * eps)) * B) by (apply Rmult_le_reg_r with (/ freq X (Datatypes.S m0) ^ 2); [apply Rinv_0_lt_compat; nra|rewrite Rmult_0_l; unfold Rdiv in S1; lra]).
    unfold K. apply Rmult_le_pos; [apply Rmult_le_pos; lra|left; apply Rinv_0_lt_compat; nra]. }
  apply Rmult_le_compat_l; lra. Qed.
Theorem line_any : let tail := exp (- (c * eps)) * B / (PI * freq X m0) in
  let aliases := Chernoff.C r * (exp (- (r * eps)) * Mr) * ratio (r - c) + Chernoff.C r' * (exp (- (r' * eps)) * Mr') * ratio (c - r') in
  sums m0 - tail - aliases <= D <= sums m0 + tail.
Proof. intros tail al. assert (PP := PI_RGT_0). set (K := X / (2 * PI ^ 2)). set (M := exp (- (c * eps)) * Mc). assert (IM := shifted_moment c Mc IC). fold M in IM.
  assert (K0 : 0 < K) by (apply Rdiv_lt_0_compat; [lra|nra]). assert (M0 : 0 <= M) by (apply (int_ge0 A _ _ (fun x => Rmult_le_pos _ _ (P0 x) (Rlt_le _ _ (exp_pos _))) IM)).
  assert (WE : forall x, w eps (L x) = w 0 (L x - eps)) by (intros x; unfold w; do 3 f_equal; ring).
  assert (UP : forall m1, (0 < m1)%nat -> D <= sums m1 + K / INR m1 * M).
  { intros m1 H1. refine (int_le A _ _ _ _ _ ID (int_plus A _ _ _ _ (sums_int m1) (int_scal A (K / INR m1) _ _ IM))). intros x. cbv beta. rewrite WE.
    destruct (aliased_near c r r' X (L x - eps) Hr' Hr HX) as [A1 _]. assert (N := line_sum_near c r' X (L x - eps) Hr' HX m1 H1). fold K in N. apply Rabs_le_between in N.
    replace (P x * line_sum c X (L x - eps) m1 + K / INR m1 * (P x * exp (c * (L x - eps)))) with (P x * (line_sum c X (L x - eps) m1 + exp (c * (L x - eps)) * K / INR m1)) by (unfold Rdiv; ring).
    apply Rmult_le_compat_l; [auto|lra]. }
  assert (DN : forall m1, (0 < m1)%nat -> sums m1 <= D + al + K / INR m1 * M).
  { intros m1 H1. assert (I2 := int_plus A _ _ _ _ (int_plus A _ _ _ _ ID (int_plus A _ _ _ _ (int_scal A (Chernoff.C r * ratio (r - c)) _ _ (shifted_moment r Mr IR)) (int_scal A (Chernoff.C r' * ratio (c - r')) _ _ (shifted_moment r' Mr' IR'))))
      (int_scal A (K / INR m1) _ _ IM)).
    assert (E : D + al + K / INR m1 * M = D + (Chernoff.C r * ratio (r - c) * (exp (- (r * eps)) * Mr) + Chernoff.C r' * ratio (c - r') * (exp (- (r' * eps)) * Mr')) + K / INR m1 * M) by (unfold al; ring).
    rewrite E. refine (int_le A _ _ _ _ _ (sums_int m1) I2). intros x. cbv beta. rewrite WE.
    destruct (aliased_near c r r' X (L x - eps) Hr' Hr HX) as [_ A2]. fold (ratio (r - c)) (ratio (c - r')) in A2. assert (N := line_sum_near c r' X (L x - eps) Hr' HX m1 H1). fold K in N. apply Rabs_le_between in N.
    set (s := L x - eps) in *.
    replace (P x * w 0 s + (Chernoff.C r * ratio (r - c) * (P x * exp (r * s)) + Chernoff.C r' * ratio (c - r') * (P x * exp (r' * s))) + K / INR m1 * (P x * exp (c * s)))
      with (P x * (w 0 s + Chernoff.C r * exp (r * s) * ratio (r - c) + Chernoff.C r' * exp (r' * s) * ratio (c - r') + exp (c * s) * K / INR m1)) by (unfold Rdiv; ring).
    apply Rmult_le_compat_l; [auto|lra]. }
  assert (LIM : forall x y, (forall m1, (m0 <= m1)%nat -> x <= y + K / INR m1 * M) -> x <= y).
  { intros x y H. apply close_unique. intros e He. destruct (archimed_cor1 (e / (K * M + 1))) as [n [N1 N2]]; [apply Rdiv_lt_0_compat; nra|]. specialize (H (m0 + n)%nat ltac:(lia)).
    assert (IN : 0 < INR n) by (apply lt_0_INR; lia). assert (Q : / INR (m0 + n) <= / INR n) by (apply Rinv_le_contravar; [auto|apply le_INR; lia]).
    assert (KM : 0 <= K * M) by (apply Rmult_le_pos; lra). assert (E1 : K / INR (m0 + n) * M <= K * M * (e / (K * M + 1))).
    { replace (K / INR (m0 + n) * M) with (K * M * / INR (m0 + n)) by (unfold Rdiv; ring). apply Rmult_le_compat_l; lra. }
    assert (E2 : K * M * (e / (K * M + 1)) <= e) by (apply Rmult_le_reg_r with (K * M + 1); [lra|]; replace (K * M * (e / (K * M + 1)) * (K * M + 1)) with (K * M * e) by (field; lra); nra). lra. }
  split; apply LIM; intros m1 H1; assert (N := sums_near m1 H1); fold tail in N; apply Rabs_le_between in N.
  - specialize (DN m1 ltac:(lia)). lra.
  - specialize (UP m1 ltac:(lia)). lra. Qed.
End AnyLaw.
(* k independent outputs, whose losses add up: the k-th power of one transform *)
Section Power.
Context {T : Type} (A : integral T) (P L : T -> R).
Hypothesis P0 : forall x, 0 <= P x.
Fixpoint many (k : nat) : integral (@tup T k) := match k with O => point | Datatypes.S k => times A (many k) end.
Fixpoint dens (k : nat) : @tup T k -> R := match k with O => fun _ => 1 | Datatypes.S k => fun x => P (fst x) * dens k (snd x) end.
Fixpoint loss_sum (k : nat) : @tup T k -> R := match k with O => fun _ => 0 | Datatypes.S k => fun x => L (fst x) + loss_sum k (snd x) end.
Lemma dens_ge0 k x : 0 <= dens k x.
Proof. induction k as [|k IH]; cbn [dens]; [lra|]. apply Rmult_le_pos; auto. Qed.
(* the transform of one loss at z, as two integrals *)
Definition transform_int (z M : C) := is_int A (fun x => P x * (exp (fst z * L x) * cos (snd z * L x))) (fst M)
  /\ is_int A (fun x => P x * (exp (fst z * L x) * sin (snd z * L x))) (snd M).
Lemma many_transform z M k : transform_int z M ->
  is_int (many k) (fun x => dens k x * (exp (fst z * loss_sum k x) * cos (snd z * loss_sum k x))) (fst (cpow M k)) /\
  is_int (many k) (fun x => dens k x * (exp (fst z * loss_sum k x) * sin (snd z * loss_sum k x))) (snd (cpow M k)).
Proof. intros [IC IS]. induction k as [|k [K1 K2]].
  - cbn. rewrite !Rmult_0_r, exp_0, cos_0, sin_0. split; ring.
  - set (c := fst z) in *. set (v := snd z) in *. set (u := fst (cpow M k)) in *. set (u' := snd (cpow M k)) in *.
    assert (E1 : fst (cpow M (Datatypes.S k)) = u * fst M + - u' * snd M) by (unfold u, u'; cbn [cpow Cmult fst snd]; ring).
    assert (E2 : snd (cpow M (Datatypes.S k)) = u' * fst M + u * snd M) by (unfold u, u'; cbn [cpow Cmult fst snd]; ring). rewrite E1, E2. split.
    + exists (fun x => P x * (exp (c * L x) * cos (v * L x)) * u + - (P x * (exp (c * L x) * sin (v * L x))) * u'). split.
      * intros x. eapply (int_ext (many k)); [|apply int_plus; [exact (int_scal (many k) (P x * (exp (c * L x) * cos (v * L x))) _ _ K1)|exact (int_scal (many k) (- (P x * (exp (c * L x) * sin (v * L x)))) _ _ K2)]].
        intros y. cbn [dens loss_sum fst snd]. rewrite !Rmult_plus_distr_l, exp_plus, cos_plus. ring.
      * eapply (int_ext A); [|apply int_plus; [exact (int_scal A u _ _ IC)|exact (int_scal A (- u') _ _ IS)]]. intros x. cbv beta. ring.
    + exists (fun x => P x * (exp (c * L x) * cos (v * L x)) * u' + P x * (exp (c * L x) * sin (v * L x)) * u). split.
      * intros x. eapply (int_ext (many k)); [|apply int_plus; [exact (int_scal (many k) (P x * (exp (c * L x) * cos (v * L x))) _ _ K2)|exact (int_scal (many k) (P x * (exp (c * L x) * sin (v * L x))) _ _ K1)]].
        intros y. cbn [dens loss_sum fst snd]. rewrite !Rmult_plus_distr_l, exp_plus, sin_plus. ring.
      * eapply (int_ext A); [|apply int_plus; [exact (int_scal A u' _ _ IC)|exact (int_scal A u _ _ IS)]]. intros x. cbv beta. ring. Qed.
Lemma many_moment q M k : is_int A (fun x => P x * exp (q * L x)) M -> is_int (many k) (fun x => dens k x * exp (q * loss_sum k x)) (M ^ k).
Proof. intros I. induction k as [|k IH]; [cbn; rewrite Rmult_0_r, exp_0; ring|]. exists (fun x => P x * exp (q * L x) * M ^ k). split.
  - intros x. eapply (int_ext (many k)); [|exact (int_scal (many k) (P x * exp (q * L x)) _ _ IH)]. intros y. cbn [dens loss_sum fst snd]. rewrite Rmult_plus_distr_l, exp_plus. ring.
  - cbn [pow]. rewrite Rmult_comm. eapply (int_ext A); [|exact (int_scal A (M ^ k) _ _ I)]. intros x. cbv beta. ring. Qed.
Lemma integrand_parts M eps z : Re (integrand M eps z) = fst (cis (- (RtoC eps * z)) / (z * (z + 1)))%C * fst M + - snd (cis (- (RtoC eps * z)) / (z * (z + 1)))%C * snd M.
Proof. unfold integrand, Cdiv. set (K := Cinv _). set (E := cis _). unfold Re, Cmult. cbn [fst snd]. ring. Qed.
Theorem line_independent k eps c r r' X m0 Mc Mr Mr' D B (M : R -> C) : 0 < r' < c -> c < r -> 0 < X -> (0 < m0)%nat ->
  is_int A (fun x => P x * exp (c * L x)) Mc -> is_int A (fun x => P x * exp (r * L x)) Mr -> is_int A (fun x => P x * exp (r' * L x)) Mr' ->
  (forall m, transform_int (c, freq X m) (M (freq X m))) -> is_int (many k) (fun x => dens k x * w eps (loss_sum k x)) D ->
  (forall m, (m0 <= m)%nat -> Cmod (cpow (M (freq X (Datatypes.S m))) k) <= B) ->
  let G m := Re (integrand (cpow (M (freq X m)) k) eps (c, freq X m)) in let T := / X * (G O + 2 * add (fun m => G (Datatypes.S m)) m0) in
  let tail := exp (- (c * eps)) * B / (PI * freq X m0) in let ratio d := exp (- (d * X)) / (1 - exp (- (d * X))) in
  T - tail - (Chernoff.C r * (exp (- (r * eps)) * Mr ^ k) * ratio (r - c) + Chernoff.C r' * (exp (- (r' * eps)) * Mr' ^ k) * ratio (c - r')) <= D <= T + tail.
Proof. intros Hr' Hr HX HM IC IR IR' IT ID HB G T0 tail ratio. assert (Hc : 0 < c) by lra. assert (PP := PI_RGT_0).
  apply (line_any (many k) (dens k) (loss_sum k) eps c r r' X (dens_ge0 k) Hr' Hr HX (Mc ^ k) (Mr ^ k) (Mr' ^ k) D B G); auto using many_moment.
  - intros m. unfold G. destruct (many_transform _ _ k (IT m)) as [I1 I2]. cbn [fst snd] in I1, I2. rewrite integrand_parts. set (K := (cis _ / _)%C).
    eapply (int_ext (many k)); [|apply int_plus; [exact (int_scal (many k) (fst K) _ _ I1)|exact (int_scal (many k) (- snd K) _ _ I2)]]. intros x. cbv beta.
    assert (Q := integrand_line [(loss_sum k x, 1)] eps c (freq X m) Hc). cbn [E fst snd] in Q. rewrite integrand_parts in Q. fold K in Q. unfold transform in Q. cbn [E fst snd] in Q.
    replace (on_line c (freq X m) (loss_sum k x - eps)) with (1 * on_line c (freq X m) (loss_sum k x - eps) + 0) by ring. rewrite <- Q. ring.
  - intros m Hm. unfold G. apply integrand_small; auto. unfold freq. rewrite S_INR. apply Rdiv_lt_0_compat; [|auto]. assert (Q := pos_INR m). nra. Qed.
End Power.
