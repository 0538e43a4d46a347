(* 15c. One record in place of another, where steps run on random batches.

   `Replacement` steps: Poisson sampling.  Whatever batch of the others is drawn, the outputs are normal noise around c, or
   with probability q around c + v on one data set and c + v' on the other, v and v' of norm at most 1.  Their divergence
   is at most that of the pair on the line with v = 1, v' = -1 (replaced_batch), by comparing each of the three densities
   with that around c, with the ratios that they have where the pair's own ratio is a (T22).
   `Batch` steps: batches of a fixed size m of a data set of n records, all of them as likely (`subsets`).  A batch without
   the record is a batch with it, but for one other record, whose contribution is at most 2 away: for a >= 1 the curve is at
   most that of a record removed from a Poisson sample at rate m/n at twice the distance, for a < 1 that of one added
   (batch_bound, T52).  So a law above both is above the step's. *)
Require Import Reals ZArith List Lra Lia Bool Permutation.
From VerifiedDP Require Import Law HockeyStick Checker Link Integral Normal Space Enclosures SampledGaussian Events Extract Mechanism.
Import ListNotations.
Open Scope R_scope.

(* ---------- Poisson sampling ---------- *)
Lemma sampled_replace {X T} (A : integral T) q (M : list X -> T -> R) c x x' D a : 0 < q <= 1 -> 0 <= c ->
  (forall b, upto A (fun y => pos (mix q (M (x :: b)) (M b) y - a * mix q (M (x' :: b)) (M b) y)) c) ->
  upto A (fun y => pos (sampled q M (x :: D) y - a * sampled q M (x' :: D) y)) c.
Proof. intros Hq Hc H. set (f := fun b y => mix q (M (x :: b)) (M b) y - a * mix q (M (x' :: b)) (M b) y).
  apply (upto_le A _ (fun y => pos (S (fun b => snd b * f (fst b) y) (batches q D))) c); [|lra|].
  - intros y. right. f_equal. rewrite !sampled_cons.
    replace (S _ (batches q D) - _) with (S (fun b => snd b * mix q (M (x :: fst b)) (M (fst b)) y) (batches q D)
      + -1 * S (fun b => a * (snd b * mix q (M (x' :: fst b)) (M (fst b)) y)) (batches q D)) by (rewrite S_scal; ring).
    rewrite <- S_scal, <- S_plus. apply S_ext; intros b. unfold f; ring.
  - now apply over_batches. Qed.
(* where the ratio of the pair is a *)
Definition even_place (q m a : R) : R := let k := q * exp (- m * m / 2) in let b := (1 - q) * (1 - a) in
  ln ((sqrt (b * b + 4 * a * k * k) - b) / (2 * k)) / m.
Lemma even_at q m a : 0 < q <= 1 -> 0 < m -> 0 < a -> balance q m a (even_place q m a) = 0.
Proof. intros Hq Hm Ha. unfold even_place, balance, rho. set (k0 := exp (- m * m / 2)). assert (K0 : 0 < k0) by apply exp_pos.
  set (k := q * k0). set (b := (1 - q) * (1 - a)). assert (K : 0 < k) by (apply Rmult_lt_0_compat; lra).
  set (r := sqrt (b * b + 4 * a * k * k)). assert (KK : 0 < 4 * a * k * k) by (repeat apply Rmult_lt_0_compat; lra).
  assert (RR : r * r = b * b + 4 * a * k * k) by (apply sqrt_sqrt; nra). assert (R0 : 0 <= r) by apply sqrt_pos.
  assert (RB : b < r) by (destruct (Rle_lt_dec b 0); [destruct R0 as [|Z]; [lra|rewrite <- Z in RR; nra]|nra]).
  set (u := (r - b) / (2 * k)). assert (U : 0 < u) by (apply Rdiv_lt_0_compat; lra).
  assert (E1 : exp (m * (ln u / m) - m * m / 2) = u * k0).
  { replace (m * (ln u / m) - m * m / 2) with (ln u + - m * m / 2) by (field; lra). rewrite exp_plus, exp_ln; auto. }
  assert (E2 : exp (- (m * (ln u / m)) - m * m / 2) = / u * k0).
  { replace (- (m * (ln u / m)) - m * m / 2) with (- ln u + - m * m / 2) by (field; lra). rewrite exp_plus, exp_Ropp, exp_ln; auto. }
  rewrite E1, E2. apply Rmult_eq_reg_l with u; [|lra].
  replace (u * (b + q * (u * k0) - a * q * (/ u * k0))) with (k * u * u + b * u - a * k) by (unfold k; field; lra).
  assert (UE : 2 * k * u = r - b) by (unfold u; field; lra).
  apply Rmult_eq_reg_l with (4 * k); [|lra]. replace (4 * k * (k * u * u + b * u - a * k)) with ((2 * k * u + b) * (2 * k * u + b) - (b * b + 4 * a * k * k)) by ring.
  rewrite UE. replace (r - b + b) with r by ring. rewrite RR. ring. Qed.
Lemma replaced_at_even q m a : 0 < q <= 1 -> 0 < m -> 0 < a -> let t := even_place q m a in
  q * stick m (rho m t) + a * q * exp (- (m * t) - m * m / 2) * stick m (/ exp (- (m * t) - m * m / 2)) <= curve Replaced q m a.
Proof. intros Hq Hm Ha t. assert (B := even_at q m a Hq Hm Ha). fold t in B. set (mu := exp (- (m * t) - m * m / 2)) in *.
  assert (M0 : 0 < mu) by apply exp_pos. assert (R0 : 0 < rho m t) by apply exp_pos. assert (I0 := Rinv_0_lt_compat _ M0).
  assert (C1 : cut m (rho m t) = t) by (unfold cut, rho; rewrite ln_exp; field; lra).
  assert (C2 : cut m (/ mu) = t + m) by (unfold cut, mu; rewrite <- exp_Ropp, ln_exp; field; lra).
  unfold stick. destruct (Rlt_dec 0 (rho m t)); [|lra]. destruct (Rlt_dec 0 (/ mu)); [|lra]. rewrite C1, C2.
  replace (t + m - m) with t by ring.
  apply Rle_trans with (replaced_gain q m t a).
  - right. unfold replaced_gain. unfold balance in B. fold mu in B.
    replace (q * (upper (t - m) - rho m t * upper t) + a * q * mu * (upper t - / mu * upper (t + m)))
      with (q * upper (t - m) - a * q * upper (t + m) + (a * q * mu - q * rho m t) * upper t) by (field; lra).
    replace (a * q * mu - q * rho m t) with ((1 - q) * (1 - a)) by lra. ring.
  - refine (line_le _ _ _ _ _ (replaced_gain_int q m t a) (curve_int q m Hq Hm Replaced a (Rlt_le _ _ Ha))).
    intros x. cbv beta. set (z := pair_P _ _ _ _ - _). assert (Z := pos_ge0 z). assert (Z1 : z <= pos z) by apply Rmax_r.
    unfold beyond. destruct (Rlt_dec t x); lra. Qed.
Theorem replaced_batch {d} sigma q (c v v' : vec d) a : 0 < sigma -> 0 < q <= 1 -> 0 < a -> norm v <= 1 -> norm v' <= 1 ->
  upto (space d) (fun y => pos (mix q (normals sigma (plus_vec c v)) (normals sigma c) y - a * mix q (normals sigma (plus_vec c v')) (normals sigma c) y))
    (curve Replaced q (/ sigma) a).
Proof. intros Hs Hq Ha Hv Hv'. assert (Hm := Rinv_0_lt_compat _ Hs). set (m := / sigma) in *. assert (L := replaced_at_even q m a Hq Hm Ha).
  assert (B := even_at q m a Hq Hm Ha). cbv zeta in L. set (t := even_place q m a) in *. unfold balance in B.
  set (mu := exp (- (m * t) - m * m / 2)) in *. set (la := rho m t) in *. assert (M0 : 0 < mu) by apply exp_pos. assert (I0 := Rinv_0_lt_compat _ M0).
  assert (G1 := gaussian_space sigma Hs d c v la Hv). fold m in G1.
  assert (G2 : upto (space d) (fun y => pos (normals sigma c y - / mu * normals sigma (plus_vec c v') y)) (stick m (/ mu))).
  { assert (N : norm (opp_vec v') <= 1) by (unfold norm; rewrite squares_opp; apply Hv').
    assert (G := gaussian_space sigma Hs d (plus_vec v' c) _ (/ mu) N). rewrite plus_opp in G. now rewrite (plus_comm c). }
  assert (AQ : 0 < a * q * mu) by (repeat apply Rmult_lt_0_compat; lra).
  apply (upto_le (space d) _ (fun y => q * pos (normals sigma (plus_vec c v) y - la * normals sigma c y)
      + a * q * mu * pos (normals sigma c y - / mu * normals sigma (plus_vec c v') y)) (q * stick m la + a * q * mu * stick m (/ mu))); [|exact L|].
  - intros y. rewrite !pos_scal by lra. eapply Rle_trans; [|apply pos_add]. apply pos_le. right. unfold mix.
    replace (a * q * mu * (normals sigma c y - / mu * normals sigma (plus_vec c v') y)) with (a * q * mu * normals sigma c y - a * q * normals sigma (plus_vec c v') y) by (field; lra).
    assert (Z : ((1 - q) * (1 - a) + q * la - a * q * mu) * normals sigma c y = 0) by (rewrite B; ring). lra.
  - apply upto_plus; apply upto_scal; auto; lra. Qed.

Lemma in_step {U V} (R : U -> V -> Prop) a b : Forall2 R a b -> forall n, match nth_error a n, nth_error b n with
  | Some x, Some y => R x y | None, None => True | _, _ => False end.
Proof. intros F. induction F as [|x y a b H F IH]; intros [|n]; cbn [nth_error]; auto. apply IH. Qed.
Lemma same_length {U V} (R : U -> V -> Prop) a b : Forall2 R a b -> length a = length b.
Proof. intros F. induction F as [|x y a b H F IH]; [reflexivity|]. cbn [length]. now rewrite IH. Qed.
(* ---------- batches of a fixed size ---------- *)
(* the sublists of m records *)
Fixpoint subsets {X} (m : nat) (D : list X) : list (list X) :=
  match m, D with
  | O, _ => [[]]
  | Datatypes.S _, [] => []
  | Datatypes.S k, x :: D' => map (cons x) (subsets k D') ++ subsets m D'
  end.
Lemma subsets_0 {X} (D : list X) : subsets 0 D = [[]].
Proof. now destruct D. Qed.
(* the density of the output when M runs on a random batch of m records *)
Definition fixed {X T} (m : nat) (M : list X -> T -> R) (D : list X) (y : T) : R := / INR (length (subsets m D)) * S (fun b => M b y) (subsets m D).
(* m records and a further one *)
Fixpoint draws {X} (m : nat) (D : list X) : list (X * list X) :=
  match D with
  | [] => []
  | x :: D => map (fun T => (x, T)) (subsets m D) ++ draws m D
      ++ match m with O => [] | Datatypes.S k => map (fun p => (fst p, x :: snd p)) (draws k D) end
  end.
Lemma draws_join {X} D : forall m (f : list X -> R), (forall b b', Permutation b b' -> f b = f b') ->
  S (fun p => f (fst p :: snd p)) (draws m D) = INR (Datatypes.S m) * S f (subsets (Datatypes.S m) D).
Proof. induction D as [|x D IH]; intros m f H; [simpl; ring|]. cbn [draws]. rewrite !S_app, S_map. cbn [fst snd]. rewrite IH by auto.
  change (subsets (Datatypes.S m) (x :: D)) with (map (cons x) (subsets m D) ++ subsets (Datatypes.S m) D). rewrite S_app, S_map.
  destruct m as [|k]; [rewrite subsets_0; simpl; ring|]. rewrite S_map. cbn [fst snd].
  rewrite (S_ext _ (fun p => (fun b => f (x :: b)) (fst p :: snd p))) by (intros p; apply H, perm_swap).
  rewrite (IH k (fun b => f (x :: b))) by (intros b b' P; apply H; now constructor). rewrite (S_INR (Datatypes.S k)). ring. Qed.
Lemma draws_rest {X} D : forall m (f : list X -> R), S (fun p => f (snd p)) (draws m D) = (INR (length D) - INR m) * S f (subsets m D).
Proof. induction D as [|x D IH]; intros m f; [destruct m; simpl; ring|]. cbn [draws]. rewrite !S_app, S_map. cbn [fst snd]. rewrite IH.
  cbn [length]. rewrite S_INR. destruct m as [|k]; [rewrite !subsets_0; simpl; ring|]. rewrite S_map. cbn [fst snd]. rewrite (IH k (fun b => f (x :: b))).
  change (subsets (Datatypes.S k) (x :: D)) with (map (cons x) (subsets k D) ++ subsets (Datatypes.S k) D). rewrite S_app, S_map, S_INR.
  change (fun v : list X => f v) with f. ring. Qed.
Lemma S_ones {T} (l : list T) : S (fun _ => 1) l = INR (length l).
Proof. induction l as [|x l IH]; [reflexivity|]. cbn [length S]. rewrite S_INR, IH. ring. Qed.
Lemma subsets_some {X} (D : list X) : forall m, (m <= length D)%nat -> (0 < length (subsets m D))%nat.
Proof. induction D as [|x D IH]; intros [|k] H; cbn [subsets length] in *; try lia. rewrite app_length, map_length. specialize (IH k ltac:(lia)). lia. Qed.
Section Fixed.
Context {X T : Type} (A : integral T) (M : list X -> T -> R) (k : nat) (D : list X).
Hypothesis M0 : forall b y, 0 <= M b y.
Hypothesis M1 : forall b, is_int A (M b) 1.
Hypothesis MP : forall b b' y, Permutation b b' -> M b y = M b' y.
Hypothesis size : (k < length D)%nat.
Let m := Datatypes.S k.
Let q := INR m / INR (length D + 1).
Let N := INR (length (draws k D)).
Lemma fixed_ge0 D' y : 0 <= fixed m M D' y.
Proof. unfold fixed. apply Rmult_le_pos.
  - destruct (length (subsets m D')) as [|n]; [simpl; rewrite Rinv_0; lra|]. left. apply Rinv_0_lt_compat, lt_0_INR. lia.
  - induction (subsets m D') as [|b l IH]; simpl; [lra|]. specialize (M0 b y). lra. Qed.
Lemma sum_int (l : list (list X)) : is_int A (fun y => S (fun b => M b y) l) (INR (length l)).
Proof. induction l as [|b l IH]; [apply int_zero|]. cbn [S length]. rewrite S_INR, Rplus_comm. now apply (int_plus A (M b)). Qed.
Lemma fixed_int x : is_int A (fixed m M (x :: D)) 1.
Proof. unfold fixed. assert (K := subsets_some (x :: D) m ltac:(cbn [length]; unfold m; lia)). apply lt_0_INR in K.
  rewrite <- (Rinv_l (INR (length (subsets m (x :: D))))) by lra. apply int_scal, sum_int. Qed.
Lemma counts : INR (length (subsets k D)) * (INR (length D) - INR k) = N /\ INR (length (subsets m D)) * INR m = N /\ 0 < N
  /\ 0 < INR (length D) - INR k /\ 0 < INR m.
Proof. assert (E1 := draws_rest D k (fun _ => 1)). assert (E2 := draws_join D k (fun _ => 1) ltac:(auto)). rewrite !S_ones in E1, E2.
  assert (K := subsets_some D k ltac:(lia)). apply lt_0_INR in K. assert (L := lt_INR k (length D) size). assert (IM : 0 < INR m) by (apply lt_0_INR; unfold m; lia).
  unfold N. fold m in E2. split; [rewrite E1; ring|split; [rewrite E2; ring|split; [|lra]]]. rewrite E1. apply Rmult_lt_0_compat; lra. Qed.
Lemma rate_range : 0 < q < 1.
Proof. destruct counts as [_ [_ [_ [A3 A4]]]]. unfold q. rewrite plus_INR. cbn [INR]. unfold m in *. rewrite S_INR in *. split; [apply Rdiv_lt_0_compat; lra|].
  apply Rmult_lt_reg_r with (INR (length D) + 1); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. Qed.
(* with the record x: m - 1 others and x, or m - 1 others and another one *)
Lemma fixed_mix x y : fixed m M (x :: D) y = / N * S (fun p => mix q (M (x :: snd p)) (M (fst p :: snd p)) y) (draws k D).
Proof. destruct counts as [C1 [C2 [N0 [C3 C4]]]]. unfold fixed.
  change (subsets m (x :: D)) with (map (cons x) (subsets k D) ++ subsets m D). rewrite app_length, map_length, S_app, S_map, plus_INR.
  unfold mix. rewrite S_plus, !S_scal. rewrite (draws_rest D k (fun b => M (x :: b) y)).
  rewrite (draws_join D k (fun b => M b y)) by (intros; now apply MP). fold m. set (s := S (fun b => M (x :: b) y) (subsets k D)). set (s' := S (fun b => M b y) (subsets m D)).
  assert (U : INR (length (subsets k D)) = N / (INR (length D) - INR k)) by (rewrite <- C1; field; lra).
  assert (V : INR (length (subsets m D)) = N / INR m) by (rewrite <- C2; field; lra).
  rewrite U, V. unfold q. rewrite plus_INR. cbn [INR]. unfold m in *. rewrite S_INR in *. field.
  assert (0 < N * (INR k + 1)) by (apply Rmult_lt_0_compat; lra). assert (0 < N * (INR (length D) - INR k)) by (apply Rmult_lt_0_compat; lra). repeat split; lra. Qed.
Lemma fixed_bound x x' a c : 0 <= c -> (forall r b, upto A (fun y => pos (mix q (M (x :: b)) (M (r :: b)) y - a * mix q (M (x' :: b)) (M (r :: b)) y)) c) ->
  upto A (fun y => pos (fixed m M (x :: D) y - a * fixed m M (x' :: D) y)) c.
Proof. intros Hc H. destruct counts as [_ [_ [N0 _]]]. assert (NI := Rinv_0_lt_compat _ N0).
  set (f := fun (p : X * list X) y => mix q (M (x :: snd p)) (M (fst p :: snd p)) y - a * mix q (M (x' :: snd p)) (M (fst p :: snd p)) y).
  apply (upto_le A _ (fun y => / N * S (fun p => pos (f p y)) (draws k D)) (/ N * (N * c))).
  - intros y. rewrite !fixed_mix. replace (/ N * _ - _) with (/ N * S (fun p => f p y) (draws k D)).
    + rewrite <- pos_scal by lra. apply Rmult_le_compat_l; [lra|apply S_pos].
    + unfold f. rewrite (S_ext _ (fun p => mix q (M (x :: snd p)) (M (fst p :: snd p)) y + - a * mix q (M (x' :: snd p)) (M (fst p :: snd p)) y)) by (intros; ring).
      rewrite S_plus, S_scal. ring.
  - right. field. lra.
  - apply upto_scal; [lra|]. unfold N. clear N0 NI N. induction (draws k D) as [|p l IH]; cbn [S length].
    + rewrite Rmult_0_l. apply upto_int, int_zero.
    + rewrite S_INR. apply (upto_le A _ (fun y => pos (f p y) + S (fun p => pos (f p y)) l) (c + INR (length l) * c)); [intros; lra|lra|].
      apply upto_plus; [apply H|exact IH]. Qed.
End Fixed.
(* normal noise around c + v against around c, v of norm at most 2 *)
Lemma twice_apart {d} tau (c v : vec d) a : 0 < tau -> norm v <= 2 ->
  upto (space d) (fun y => pos (normals (2 * tau) (plus_vec c v) y - a * normals (2 * tau) c y)) (stick (/ tau) a).
Proof. intros Ht Hv. assert (V := Rinv_0_lt_compat _ Ht). eexists. eexists. split; [intros; apply Rle_refl|]. split; [apply normals_tip; lra|].
  apply tip_grows; auto. apply Rmult_le_reg_r with (2 * tau); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
  replace (/ tau * (2 * tau)) with 2 by (field; lra). lra. Qed.
Lemma twice_swapped {d} tau (c v w : vec d) a : 0 < tau -> norm v <= 1 -> norm w <= 1 ->
  upto (space d) (fun y => pos (normals (2 * tau) (plus_vec c v) y - a * normals (2 * tau) (plus_vec c w) y)) (stick (/ tau) a).
Proof. intros Ht Hv Hw. assert (K := twice_apart tau (plus_vec c w) (plus_vec v (opp_vec w)) a Ht).
  assert (N : norm (plus_vec v (opp_vec w)) <= 2).
  { eapply Rle_trans; [apply norm_plus|]. assert (norm (opp_vec w) = norm w) by (unfold norm; now rewrite squares_opp). lra. }
  specialize (K N). assert (E : plus_vec c v = plus_vec (plus_vec c w) (plus_vec v (opp_vec w))) by (rewrite (plus_comm c v), (plus_comm c w); apply exchanged).
  now rewrite E. Qed.
Theorem batch_bound {d} tau q (c v v' w : vec d) a : 0 < tau -> 0 < q < 1 -> 0 < a -> norm v <= 1 -> norm v' <= 1 -> norm w <= 1 ->
  let N := normals (2 * tau) in
  upto (space d) (fun y => pos (mix q (N (plus_vec c v)) (N (plus_vec c w)) y - a * mix q (N (plus_vec c v')) (N (plus_vec c w)) y))
    (Rmax (curve Remove q (/ tau) a) (curve Add q (/ tau) a)).
Proof. intros Ht Hq Ha Hv Hv' Hw N. set (m := / tau). destruct (Rle_lt_dec 1 a) as [G|G].
  - cbn [curve]. unfold remove_curve. set (b := (a - 1 + q) / q). assert (BQ : q * b = a - 1 + q) by (unfold b; field; lra).
    assert (B1 : 1 <= b) by (apply Rmult_le_reg_l with q; lra). assert (BA : a <= b) by nra. assert (BP : 0 < / b) by (apply Rinv_0_lt_compat; lra).
    set (beta := a * / b). assert (BE : b * beta = a) by (unfold beta; field; lra). assert (B0 : 0 <= beta <= 1).
    { unfold beta. split; [apply Rmult_le_pos; lra|]. apply Rmult_le_reg_l with b; [lra|]. fold beta. rewrite BE. lra. }
    apply (upto_le (space d) _ (fun y => q * (1 - beta) * pos (N (plus_vec c v) y - b * N (plus_vec c w) y) + q * beta * pos (N (plus_vec c v) y - b * N (plus_vec c v') y))
      (q * (1 - beta) * stick m b + q * beta * stick m b)).
    + intros y. assert (0 <= q * (1 - beta)) by (apply Rmult_le_pos; lra). assert (0 <= q * beta) by (apply Rmult_le_pos; lra).
      rewrite !pos_scal by auto. eapply Rle_trans; [|apply pos_add]. apply pos_le. right. unfold mix.
      assert (E1 : q * (1 - beta) * b = (a - 1) * (1 - q)) by (replace (q * (1 - beta) * b) with (q * b - q * (b * beta)) by ring; rewrite BE, BQ; ring).
      assert (E2 : q * beta * b = q * a) by (rewrite <- BE; ring).
      replace (q * (1 - beta) * (N (plus_vec c v) y - b * N (plus_vec c w) y)) with (q * (1 - beta) * N (plus_vec c v) y - q * (1 - beta) * b * N (plus_vec c w) y) by ring.
      replace (q * beta * (N (plus_vec c v) y - b * N (plus_vec c v') y)) with (q * beta * N (plus_vec c v) y - q * beta * b * N (plus_vec c v') y) by ring.
      rewrite E1, E2. ring.
    + eapply Rle_trans; [|apply Rmax_l]. right. ring.
    + apply upto_plus; (apply upto_scal; [apply Rmult_le_pos; lra|]); apply twice_swapped; auto.
  - cbn [curve]. unfold add_curve. assert (AQ : a * (1 - q) < 1) by nra. destruct (Rlt_dec 0 (1 - a * (1 - q))) as [RP|]; [|lra]. set (r := 1 - a * (1 - q)) in *. set (b := a * q / r).
    assert (BR : r * b = a * q) by (unfold b; field; lra). assert (0 <= (1 - q) * (1 - a)) by (apply Rmult_le_pos; lra).
    apply (upto_le (space d) _ (fun y => q * pos (N (plus_vec c v) y - b * N (plus_vec c v') y) + (1 - q) * (1 - a) * pos (N (plus_vec c w) y - b * N (plus_vec c v') y))
      (q * stick m b + (1 - q) * (1 - a) * stick m b)).
    + intros y. rewrite !pos_scal by lra. eapply Rle_trans; [|apply pos_add]. apply pos_le. right. unfold mix.
      assert (E1 : q * b + (1 - q) * (1 - a) * b = a * q) by (rewrite <- BR; unfold r; ring).
      replace (q * (N (plus_vec c v) y - b * N (plus_vec c v') y) + (1 - q) * (1 - a) * (N (plus_vec c w) y - b * N (plus_vec c v') y))
        with (q * N (plus_vec c v) y + (1 - q) * (1 - a) * N (plus_vec c w) y - (q * b + (1 - q) * (1 - a) * b) * N (plus_vec c v') y) by ring.
      rewrite E1. ring.
    + eapply Rle_trans; [|apply Rmax_r]. right. unfold r. ring.
    + apply upto_plus; (apply upto_scal; [lra|]); apply twice_swapped; auto. Qed.

(* a step on a batch of so many records *)
Record batch_plan := { batch_size : nat; batch_noise : R }.
Definition batch_mechanism {X d} (plans : list batch_plan) (query : list (vec d) -> X -> vec d) (D : list X) (h : list (vec d)) (y : vec d) : R :=
  match nth_error plans (length h) with
  | Some a => fixed (batch_size a) (fun batch => normals (batch_noise a) (total (query h) batch)) D y
  | None => 0
  end.
(* what the program was told of a step, on data sets of n records *)
Definition told_of (n : nat) (a : batch_plan) (s : stated) := exists g ts, s = Batch g ts /\ (0 < batch_size a < n)%nat
  /\ q_of g = INR (batch_size a) / INR n /\ batch_noise a = 2 * sigma_of g.
Section Batches.
Context {X : Type} {d : nat} (query : list (vec d) -> X -> vec d) (x x' : X) (D : list X) (o : order).
Variables (p : problem) (ss all : list stated) (plans : list batch_plan).
Hypothesis bounded_query : forall h x, norm (query h x) <= 1.
Hypothesis above : direction p = Above.
Hypothesis some_kind : kinds p <> [].
Hypothesis judged : judge (Some o) p (map Some ss) = true.
Hypothesis planned : Permutation (steps_stated (kinds p) ss) all.
Hypothesis told_so : Forall2 (told_of (length D + 1)) plans all.
Theorem fixed_batch_private : forall test u v, (forall outputs, 0 <= test outputs <= 1) ->
  expect (space d) (batch_mechanism plans query (x :: D)) test (length plans) [] u ->
  expect (space d) (batch_mechanism plans query (x' :: D)) test (length plans) [] v ->
  u <= exp (epsilon_of p) * v + IZR (bound p) / unit_of p.
Proof. intros test u v Ht HU HV. assert (L : length plans = length all) by exact (same_length _ _ _ told_so). rewrite L in HU, HV.
  apply (steps_private (space d) (batch_mechanism plans query (x :: D)) (batch_mechanism plans query (x' :: D)) o p ss all above some_kind judged planned) with (test := test); auto.
  intros s h NT O Sa. assert (K := in_step _ _ _ told_so (length h)). rewrite NT in K. unfold batch_mechanism. destruct (nth_error plans (length h)) as [a|]; [|easy].
  destruct K as [g [ts [-> [Sz [Qe Ne]]]]]. destruct Sa as [Hq Hs]. assert (V := Rinv_0_lt_compat _ Hs). rewrite Ne.
  destruct (batch_size a) as [|k]; [lia|]. set (M := fun batch => normals (2 * sigma_of g) (total (query h) batch)).
  assert (M0 : forall b y, 0 <= M b y) by (intros; apply normals_ge0; lra). assert (M1 : forall b, is_int (space d) (M b) 1) by (intros; apply normals_int; lra).
  assert (MP : forall b b' y, Permutation b b' -> M b y = M b' y) by (intros b b' y P; unfold M; now rewrite (total_permutation _ b b' P)).
  assert (LK : (k < length D)%nat) by lia. assert (RR := rate_range k D LK). rewrite <- Qe in RR. cbn [curve_of].
  split; [intros y; now apply (fixed_ge0 M k D)|split; [intros y; now apply (fixed_ge0 M k D)|split; [now apply (fixed_int (space d) M k D)|]]]. intros e.
  apply (fixed_bound (space d) M k D); auto.
  - eapply Rle_trans; [|apply Rmax_l]. apply (int_ge0 line _ _ (fun z => pos_ge0 _) (curve_int _ _ Hq V Remove _ (Rlt_le _ _ (exp_pos e)))).
  - intros r b. rewrite <- Qe. unfold M. cbn [total]. rewrite (plus_comm (query h x)), (plus_comm (query h x')), (plus_comm (query h r)).
    apply batch_bound; auto. apply exp_pos. Qed.
End Batches.

(* ---------- plain steps beside sampled ones ---------- *)
(* what the program was told of a step: a plain one is a Gaussian step at half of the noise, or less *)
Definition replaces (a : plan) (s : stated) := match s with
  | Replacement g => a = plan_of g
  | Gaussian g => q_of g = 1 /\ rate a = 1 /\ 2 * sigma_of g <= noise a
  | _ => False end.
Theorem gaussians_replace_private {X d} (query : list (vec d) -> X -> vec d) (x x' : X) D o p ss all plans : (forall h x, norm (query h x) <= 1) ->
  direction p = Above -> kinds p <> [] -> judge (Some o) p (map Some ss) = true -> Permutation (steps_stated (kinds p) ss) all -> Forall2 replaces plans all ->
  forall test u v, (forall outputs, 0 <= test outputs <= 1) ->
  expect (space d) (mechanism plans query (x :: D)) test (length plans) [] u -> expect (space d) (mechanism plans query (x' :: D)) test (length plans) [] v ->
  u <= exp (epsilon_of p) * v + IZR (bound p) / unit_of p.
Proof. intros HN Ab SK J Pl R2 test u v Ht HU HV. assert (LE : length plans = length all) by exact (same_length _ _ _ R2). rewrite LE in HU, HV.
  apply (steps_private (space d) (mechanism plans query (x :: D)) (mechanism plans query (x' :: D)) o p ss all Ab SK J Pl) with (test := test); auto.
  intros s h NT O Sa. assert (K := in_step _ _ _ R2 (length h)). rewrite NT in K. unfold mechanism. destruct (nth_error plans (length h)) as [a|]; [|easy].
  destruct s as [g| | |g|]; try easy; cbn [replaces sane curve_of order_of] in *; destruct Sa as [Hq Hs]; assert (V := Rinv_0_lt_compat _ Hs).
  - destruct K as [Q1 [R1 N2]]. rewrite R1, Q1. assert (Hn : 0 < noise a) by lra. set (M := fun batch => normals (noise a) (total (query h) batch)).
    assert (M0 : forall b y, 0 <= M b y) by (intros; now apply normals_ge0). assert (M1 : forall b, is_int (space d) (M b) 1) by (intros; now apply normals_int).
    split; [intros y; apply sampled_ge0; auto; lra|split; [intros y; apply sampled_ge0; auto; lra|split; [apply sampled_int; auto; lra|]]]. intros e. rewrite curve_one.
    apply sampled_replace; [lra|now apply stick_ge0|]. intros b. apply (upto_le (space d) _ (fun y => pos (M (x :: b) y - exp e * M (x' :: b) y)) (stick (/ (noise a / 2)) (exp e))).
    + intros y. right. f_equal. unfold mix. ring.
    + apply stick_mono; [apply Rinv_0_lt_compat; lra|apply Rinv_le_contravar; lra].
    + unfold M. cbn [total]. rewrite (plus_comm (query h x)), (plus_comm (query h x')). assert (T := twice_swapped (noise a / 2) (total (query h) b) (query h x) (query h x') (exp e) ltac:(lra) (HN h x) (HN h x')).
      now replace (2 * (noise a / 2)) with (noise a) in T by field.
  - subst a. cbn [plan_of rate noise]. set (M := fun batch => normals (sigma_of g) (total (query h) batch)).
    assert (M0 : forall b y, 0 <= M b y) by (intros; now apply normals_ge0). assert (M1 : forall b, is_int (space d) (M b) 1) by (intros; now apply normals_int).
    split; [intros y; now apply sampled_ge0|split; [intros y; now apply sampled_ge0|split; [now apply sampled_int|]]]. intros e. apply sampled_replace; auto.
    + apply (int_ge0 line _ _ (fun z => pos_ge0 _) (curve_int _ _ Hq V Replaced _ (Rlt_le _ _ (exp_pos e)))).
    + intros b. unfold M. cbn [total]. rewrite (plus_comm (query h x)), (plus_comm (query h x')). apply replaced_batch; auto. apply exp_pos. Qed.
Definition replacement (g : gaussian_step) := Some (Replacement g).
Section Replace.
Context {X : Type} {d : nat} (query : list (vec d) -> X -> vec d) (x x' : X) (D : list X) (o : order).
Variables (p : problem) (gs : list gaussian_step) (plans : list plan).
Hypothesis bounded_query : forall h x, norm (query h x) <= 1.
Hypothesis above : direction p = Above.
Hypothesis some_kind : kinds p <> [].
Hypothesis judged : judge (Some o) p (map replacement gs) = true.
Hypothesis planned : Permutation (plans_of (kinds p) gs) plans.
Theorem sampled_gaussian_replace_private : forall test u v, (forall outputs, 0 <= test outputs <= 1) ->
  expect (space d) (mechanism plans query (x :: D)) test (length plans) [] u ->
  expect (space d) (mechanism plans query (x' :: D)) test (length plans) [] v ->
  u <= exp (epsilon_of p) * v + IZR (bound p) / unit_of p.
Proof. rewrite (plans_stated Replacement) in planned by reflexivity. destruct (Permutation_map_inv _ _ (Permutation_sym planned)) as [all [E R]].
  assert (J : judge (Some o) p (map Some (map Replacement gs)) = true) by (now rewrite map_map).
  apply (gaussians_replace_private query x x' D o p (map Replacement gs) all plans bounded_query above some_kind J R). rewrite E.
  assert (F : Forall (fun s => exists g, s = Replacement g) all).
  { apply Forall_forall. intros s Hs. exact (all_stated Replacement _ s gs (Permutation_in s (Permutation_sym R) Hs)). }
  clear - F. induction F as [|s all [g ->] F IH]; constructor; [reflexivity|exact IH]. Qed.
End Replace.
