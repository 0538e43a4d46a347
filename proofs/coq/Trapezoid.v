(* 20. The trapezoidal sum along a line is the aliased sum (T02), and what it tells of delta (T03 to T05), for laws with
   finitely many atoms.

   With M the transform of the atoms, z = c + 2 pi i m / X and n over all integers,
     (1/X) sum_m Re (M(z) e^(-z eps) / (z (z+1))) = sum_n e^(c n X) D(eps + n X),   D = delta of the atoms     (trapezoid)
   atom by atom, by Fourier.v.  The term n = 0 is D(eps), all others are at least 0, and moments bound them (aliases); where
   |M| <= B beyond the last frequency, what is left out is at most e^(-c eps) B / (pi w) (squares_rest).
     line_encloses: so a trapezoidal sum of m0 frequencies encloses delta of the k-fold composition of a law, M^k in place
       of M.
   That is a line witness where the transform is known exactly, as of finitely many atoms it is.  Nothing is said of how
   a continuous law's transform is found by nodes (T08), and no program of this folder evaluates such a sum. *)
Require Import Reals List Lra Lia ZArith.
From Coquelicot Require Import Coquelicot.
From VerifiedDP Require Chernoff.
From VerifiedDP Require Import Law Fourier.
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
