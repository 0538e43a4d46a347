(* 13b. Whole numbers as outputs: discrete Laplace and discrete Gaussian noise.

   `counts` is the sum over all whole numbers, an integral as Integral.v has it.  Noise on the number c has mass
   weight (k - c) / (sum of weights) at k, where weight k is e^(-r |k|) or e^(-r k^2).  Such noise on two numbers that differ
   by at most D is at most as far apart as on 0 and D (discrete_exact); `discrete_curve` is that divergence.
   A program has it between integers, of a window of whole numbers and of what is beyond it: above (excess_window), and
   below for the events {k <= t} (dot_discrete_ok). *)
From Coquelicot Require Import Coquelicot.
Require Import Reals ZArith List Lra Lia Bool.
From VerifiedDP Require Import Law HockeyStick Kronecker Exponential Checker Link Integral Normal Enclosures SampledGaussian.
Import ListNotations.
Open Scope R_scope.

(* ---------- sums over all whole numbers ---------- *)
(* the limit of the sums from -n to n *)
Fixpoint two_sided (f : Z -> R) (n : nat) : R :=
  match n with O => f 0%Z | Datatypes.S m => two_sided f m + (f (Z.of_nat n) + f (- Z.of_nat n)%Z) end.
Lemma two_sided_ext f g n : (forall k, f k = g k) -> two_sided f n = two_sided g n.
Proof. intros H. induction n as [|n IH]; cbn [two_sided]; [auto|now rewrite IH, !H]. Qed.
Lemma two_sided_le f g n : (forall k, f k <= g k) -> two_sided f n <= two_sided g n.
Proof. intros H. induction n as [|n IH]; cbn [two_sided]; auto. assert (A := H (Z.of_nat (Datatypes.S n))). assert (B := H (- Z.of_nat (Datatypes.S n))%Z). lra. Qed.
Lemma two_sided_plus f g n : two_sided (fun k => f k + g k) n = two_sided f n + two_sided g n.
Proof. induction n as [|n IH]; cbn [two_sided]; [auto|rewrite IH; ring]. Qed.
Lemma two_sided_scal c f n : two_sided (fun k => c * f k) n = c * two_sided f n.
Proof. induction n as [|n IH]; cbn [two_sided]; [auto|rewrite IH; ring]. Qed.
Definition counts : integral Z.
Proof. refine {| is_int := fun f v => is_lim_seq (two_sided f) v |}.
  - apply (is_lim_seq_ext (fun _ => 0)); [|apply is_lim_seq_const]. induction n as [|n IH]; cbn [two_sided]; auto. rewrite <- IH. ring.
  - intros f g v H. apply is_lim_seq_ext. intros n. now apply two_sided_ext.
  - intros f g u v F G. apply (is_lim_seq_ext (fun n => two_sided f n + two_sided g n)); [intros; symmetry; apply two_sided_plus|now apply is_lim_seq_plus'].
  - intros c f v F. apply (is_lim_seq_ext (fun n => c * two_sided f n)); [intros; symmetry; apply two_sided_scal|exact (is_lim_seq_scal_l _ c v F)].
  - intros f g u v H F G. apply (is_lim_seq_le (two_sided f) (two_sided g) u v); auto. intros n. now apply two_sided_le. Defined.
Lemma two_sided_grows f : (forall k, 0 <= f k) -> forall n, two_sided f n <= two_sided f (Datatypes.S n).
Proof. intros H n. cbn [two_sided]. assert (A := H (Z.of_nat (Datatypes.S n))). assert (B := H (- Z.of_nat (Datatypes.S n))%Z). lra. Qed.
Lemma counts_part f v n : (forall k, 0 <= f k) -> is_int counts f v -> two_sided f n <= v.
Proof. intros H F. exact (is_lim_seq_incr_compare (two_sided f) v F (two_sided_grows f H) n). Qed.
Lemma counts_bounded f M : (forall k, 0 <= f k) -> (forall n, two_sided f n <= M) -> exists v, is_int counts f v /\ v <= M.
Proof. intros H B. destruct (ex_finite_lim_seq_incr (two_sided f) M (two_sided_grows f H) B) as [v V]. exists v. split; [exact V|].
  apply (is_lim_seq_le (two_sided f) (fun _ => M) v M); [exact B|exact V|apply is_lim_seq_const]. Qed.
Lemma counts_exists f g v : (forall k, 0 <= f k <= g k) -> is_int counts g v -> exists u, is_int counts f u.
Proof. intros H G. destruct (counts_bounded f v) as [u [U _]]; [intros; apply H| |now exists u]. intros n.
  apply Rle_trans with (two_sided g n); [apply two_sided_le; intros; apply H|]. apply counts_part; auto. intros k. specialize (H k). lra. Qed.
Lemma counts_mirror f v : is_int counts f v -> is_int counts (fun k => f (- k)%Z) v.
Proof. apply is_lim_seq_ext. induction n as [|n IH]; cbn [two_sided]; [auto|]. rewrite IH, Z.opp_involutive. ring. Qed.
Lemma counts_next f v : (forall k, 0 <= f k) -> is_int counts f v -> is_int counts (fun k => f (k - 1)%Z) v.
Proof. intros H F. assert (E : forall n, two_sided (fun k => f (k - 1)%Z) n = two_sided f n - f (Z.of_nat n) + f (- Z.of_nat (Datatypes.S n))%Z).
  { induction n as [|n IH]; cbn [two_sided]; [cbn; ring|]. rewrite IH. replace (Z.of_nat (Datatypes.S n) - 1)%Z with (Z.of_nat n) by lia.
    replace (- Z.of_nat (Datatypes.S n) - 1)%Z with (- Z.of_nat (Datatypes.S (Datatypes.S n)))%Z by lia. ring. }
  assert (D : is_lim_seq (fun n => two_sided f (Datatypes.S n) - two_sided f n) 0).
  { replace (Finite 0) with (Finite (v - v)) by (f_equal; ring). apply is_lim_seq_minus'; [exact (proj1 (is_lim_seq_incr_1 _ _) F)|exact F]. }
  assert (far : forall s, (s = 1 \/ s = -1)%Z -> is_lim_seq (fun n => f (s * Z.of_nat (Datatypes.S n))%Z) 0).
  { intros s Hs. apply (is_lim_seq_le_le (fun _ => 0) _ (fun n => two_sided f (Datatypes.S n) - two_sided f n)); [|apply is_lim_seq_const|exact D].
    intros n. cbn [two_sided]. assert (A := H (Z.of_nat (Datatypes.S n))). assert (B := H (- Z.of_nat (Datatypes.S n))%Z). split; [apply H|].
    destruct Hs as [-> | ->]; [rewrite Z.mul_1_l|replace (-1 * Z.of_nat (Datatypes.S n))%Z with (- Z.of_nat (Datatypes.S n))%Z by ring]; lra. }
  apply (is_lim_seq_ext _ _ _ (fun n => eq_sym (E n))). replace (Finite v) with (Finite (v - 0 + 0)) by (f_equal; ring).
  apply is_lim_seq_plus'; [apply is_lim_seq_minus'; [exact F|]|].
  - apply is_lim_seq_incr_1. apply (is_lim_seq_ext (fun n => f (1 * Z.of_nat (Datatypes.S n))%Z)); [intros n; now rewrite Z.mul_1_l|]. apply far; auto.
  - apply (is_lim_seq_ext (fun n => f (-1 * Z.of_nat (Datatypes.S n))%Z)); [intros n; f_equal; lia|]. apply far; auto. Qed.
Lemma counts_shift f v c : (forall k, 0 <= f k) -> is_int counts f v -> is_int counts (fun k => f (k - c)%Z) v.
Proof. intros H F. revert c. apply Z.bi_induction; [now intros x y ->|apply (int_ext counts f); [intros; f_equal; ring|exact F]|]. intros c. split; intros I.
  - apply (int_ext counts (fun k => f (k - 1 - c)%Z)); [intros; f_equal; lia|]. exact (counts_next (fun k => f (k - c)%Z) v (fun k => H _) I).
  - apply (int_ext counts (fun k => f (- (- k - 1) - Z.succ c)%Z)); [intros; f_equal; lia|].
    exact (counts_mirror _ _ (counts_next (fun k => f (- k - Z.succ c)%Z) v (fun k => H _) (counts_mirror _ _ I))). Qed.
Definition summed (f : Z -> R) : R := real (Lim_seq (two_sided f)).
Lemma summed_int f v : is_int counts f v -> is_int counts f (summed f) /\ summed f = v.
Proof. intros F. unfold summed. cbn [is_int counts] in *. rewrite (is_lim_seq_unique _ _ F). auto. Qed.
(* all beyond a window falls like a geometric series *)
Lemma beyond_window f n B t : (forall k, 0 <= f k) -> 0 <= B -> 0 < t < 1 ->
  (forall j s, (s = 1 \/ s = -1)%Z -> f (s * Z.of_nat (Datatypes.S n + j))%Z <= B * t ^ j) -> exists v, is_int counts f v /\ v <= two_sided f n + 2 * (B / (1 - t)).
Proof. intros H HB Ht G. apply counts_bounded; auto. assert (D : 0 < / (1 - t)) by (apply Rinv_0_lt_compat; lra).
  assert (K : forall m, two_sided f (n + m) <= two_sided f n + 2 * (B / (1 - t) * (1 - t ^ m))).
  { induction m as [|m IH]; [rewrite Nat.add_0_r; cbn [pow]; lra|]. rewrite Nat.add_succ_r. cbn [two_sided].
    assert (G1 := G m 1%Z (or_introl eq_refl)). assert (G2 := G m (-1)%Z (or_intror eq_refl)). rewrite Z.mul_1_l in G1.
    replace (-1 * Z.of_nat (Datatypes.S n + m))%Z with (- Z.of_nat (Datatypes.S n + m))%Z in G2 by ring. cbn [Nat.add] in G1, G2. cbn [pow].
    replace (B / (1 - t) * (1 - t * t ^ m)) with (B / (1 - t) * (1 - t ^ m) + B * t ^ m) by (field; lra). lra. }
  intros m. apply Rle_trans with (two_sided f (n + m)).
  - clear - H. induction n as [|n IH]; [apply Rle_refl|]. eapply Rle_trans; [exact IH|]. apply (two_sided_grows f H).
  - eapply Rle_trans; [apply K|]. assert (P : 0 <= t ^ m) by (apply pow_le; lra). assert (0 <= B / (1 - t)) by (apply Rmult_le_pos; lra). nra. Qed.

(* ---------- the noise ---------- *)
Definition size (square : bool) (k : Z) : Z := if square then (k * k)%Z else Z.abs k.
Definition weight (square : bool) (r : R) (k : Z) : R := exp (- (r * IZR (size square k))).
(* noise on the number c *)
Definition discrete (square : bool) (r : R) (c k : Z) : R := weight square r (k - c) / summed (weight square r).
Definition discrete_curve (square : bool) (r : R) (D : Z) (a : R) : R :=
  summed (fun k => pos (discrete square r 0 k - a * discrete square r D k)).
(* P - a Q of the event {k <= t} *)
Definition up_to (t k : Z) : R := if (k <=? t)%Z then 1 else 0.
Lemma up_to_is t k : up_to t k = 0 \/ up_to t k = 1.
Proof. unfold up_to. destruct (k <=? t)%Z; auto. Qed.
Definition discrete_gain (square : bool) (r : R) (D t : Z) (a : R) : R :=
  summed (fun k => up_to t k * discrete square r 0 k) - a * summed (fun k => up_to t k * discrete square r D k).
Section Noise.
Variables (square : bool) (r : R).
Hypothesis Hr : 0 < r.
Let size := size square.
Let weight := weight square r.
Let noise := discrete square r.
Let curve := discrete_curve square r.
Let t := exp (- r).
Lemma t_range : 0 < t < 1 /\ / (1 - t) <= 1 + / r.
Proof. assert (T : 0 < t) by apply exp_pos. assert (E : t * exp r = 1) by (unfold t; rewrite <- exp_plus; replace (- r + r) with 0 by ring; apply exp_0).
  assert (X := exp_ineq1 r ltac:(lra)). assert (L : t * (1 + r) < 1) by nra. assert (t < 1) by nra. split; [lra|].
  apply Rmult_le_reg_r with ((1 - t) * r); [apply Rmult_lt_0_compat; lra|]. replace (/ (1 - t) * ((1 - t) * r)) with r by (field; lra).
  replace ((1 + / r) * ((1 - t) * r)) with ((r + 1) * (1 - t)) by (field; lra). nra. Qed.
Lemma weight_pos k : 0 < weight k.
Proof. apply exp_pos. Qed.
Lemma weight_even k : weight (- k) = weight k.
Proof. unfold weight, Discrete.weight, Discrete.size. destruct square; do 4 f_equal; lia. Qed.
Lemma weight_falls n j s : (s = 1 \/ s = -1)%Z -> weight (s * Z.of_nat (n + j)) <= weight (Z.of_nat n) * t ^ j.
Proof. intros Hs. assert (E : t ^ j = exp (- (r * IZR (Z.of_nat j)))).
  { rewrite <- INR_IZR_INZ. unfold t. induction j as [|j IH]; [simpl; now rewrite Rmult_0_r, Ropp_0, exp_0|]. cbn [pow]. rewrite IH, <- exp_plus, S_INR. f_equal. ring. }
  rewrite E. unfold weight, Discrete.weight. rewrite <- exp_plus. apply exp_le. rewrite <- Ropp_plus_distr, <- Rmult_plus_distr_l, <- plus_IZR.
  apply Ropp_le_contravar, Rmult_le_compat_l; [lra|]. apply IZR_le. unfold Discrete.size. destruct square, Hs as [-> | ->]; nia. Qed.
(* how much is beyond a window of weights, or of something at most as large, moved by D *)
Lemma weights_beyond f n D : (0 <= D <= Z.of_nat n)%Z -> (forall k, 0 <= f k <= weight (k - D)) ->
  exists v, is_int counts f v /\ v <= two_sided f n + 2 * (weight (Z.of_nat (Datatypes.S n) - D) * (1 + / r)).
Proof. intros HD H. destruct t_range as [T T1]. set (m := (Datatypes.S n - Z.to_nat D)%nat). assert (ME : Z.of_nat m = (Z.of_nat (Datatypes.S n) - D)%Z) by (unfold m; lia).
  destruct (beyond_window f n (weight (Z.of_nat m)) t) as [v [V L]]; [intros; apply H|left; apply weight_pos|auto| |].
  - intros j s Hs. eapply Rle_trans; [apply H|]. eapply Rle_trans; [|exact (weight_falls m j 1 (or_introl eq_refl))]. unfold weight, Discrete.weight.
    apply exp_le, Ropp_le_contravar, Rmult_le_compat_l; [lra|]. apply IZR_le. unfold Discrete.size, m. destruct square, Hs as [-> | ->]; nia.
  - exists v. split; auto. eapply Rle_trans; [exact L|]. rewrite ME. assert (W := weight_pos (Z.of_nat (Datatypes.S n) - D)).
    unfold Rdiv. assert (weight (Z.of_nat (Datatypes.S n) - D) * / (1 - t) <= weight (Z.of_nat (Datatypes.S n) - D) * (1 + / r)) by (apply Rmult_le_compat_l; lra). lra. Qed.
Let total := summed weight.
Lemma total_int : is_int counts weight total.
Proof. destruct (weights_beyond weight 0 0 ltac:(cbn; lia)) as [v [V _]]; [intros k; rewrite Z.sub_0_r; split; [left; apply weight_pos|lra]|].
  exact (proj1 (summed_int _ _ V)). Qed.
Lemma total_pos : 0 < total.
Proof. eapply Rlt_le_trans; [|exact (counts_part weight total 0 (fun k => Rlt_le _ _ (weight_pos k)) total_int)]. apply weight_pos. Qed.
Lemma noise_ge0 c k : 0 <= noise c k.
Proof. apply Rmult_le_pos; [left; apply weight_pos|left; apply Rinv_0_lt_compat, total_pos]. Qed.
Lemma noise_int c : is_int counts (noise c) 1.
Proof. assert (T := total_pos). replace 1 with (/ total * total) by (field; lra). apply (int_ext counts (fun k => / total * weight (k - c))).
  - intros k. unfold noise, discrete, Rdiv. fold weight total. ring.
  - apply int_scal. apply (counts_shift weight total c); [intros; left; apply weight_pos|apply total_int]. Qed.
Lemma curve_int D a : is_int counts (fun k => pos (noise 0 k - a * noise D k)) (curve D a).
Proof. destruct (counts_exists (fun k => pos (noise 0 k - a * noise D k)) (fun k => noise 0 k + Rabs a * noise D k) (1 + Rabs a * 1)) as [v V].
  - intros k. cbv beta. assert (A := noise_ge0 0 k). assert (B := noise_ge0 D k). split; [apply pos_ge0|]. assert (C := Rle_abs (- a)). rewrite Rabs_Ropp in C. assert (C0 := Rabs_pos a).
    assert (- a * noise D k <= Rabs a * noise D k) by (apply Rmult_le_compat_r; auto). assert (0 <= Rabs a * noise D k) by now apply Rmult_le_pos. apply Rmax_lub; lra.
  - apply int_plus; [apply noise_int|apply int_scal, noise_int].
  - exact (proj1 (summed_int _ _ V)). Qed.
Lemma curve_ge0 D a : 0 <= curve D a.
Proof. apply (int_ge0 counts _ _ (fun k => pos_ge0 _) (curve_int D a)). Qed.
(* wherever the two numbers are *)
Lemma curve_moved c c' a : is_int counts (fun k => pos (noise c k - a * noise c' k)) (curve (Z.abs (c - c')) a).
Proof. set (D := Z.abs (c - c')). assert (K := curve_int D a). assert (P0 : forall k, 0 <= pos (noise 0 k - a * noise D k)) by (intros; apply pos_ge0).
  unfold noise, discrete in *. destruct (Z_le_dec c c') as [L|L].
  - eapply (int_ext counts); [|exact (counts_shift _ _ c P0 K)]. intros k. cbv beta. now replace (k - c - 0)%Z with (k - c)%Z by ring; replace (k - c - D)%Z with (k - c')%Z by lia.
  - eapply (int_ext counts); [|exact (counts_mirror _ _ (counts_shift _ _ (- c) P0 K))]. intros k. cbv beta.
    assert (W0 := weight_even (k - c)). assert (W1 := weight_even (k - c')). unfold weight in W0, W1. rewrite <- W0, <- W1.
    now replace (- k - - c - 0)%Z with (- (k - c))%Z by ring; replace (- k - - c - D)%Z with (- (k - c'))%Z by lia. Qed.
Lemma curve_left D a : a <= 0 -> curve D a = 1 - a.
Proof. intros A. replace (1 - a) with (1 - a * 1) by ring. apply (int_unique counts _ _ _ (curve_int D a)). apply (int_ext counts (fun k => noise 0 k - a * noise D k)).
  - intros k. assert (X := noise_ge0 0 k). assert (Y := noise_ge0 D k). rewrite pos_of_pos; [auto|]. assert (0 <= - a * noise D k) by (apply Rmult_le_pos; lra). lra.
  - apply int_minus; [apply noise_int|apply int_scal, noise_int]. Qed.
Lemma curve_more D a : (0 <= D)%Z -> curve D a <= curve (D + 1) a.
Proof. intros HD. destruct (Rle_lt_dec a 0) as [A|A].
  { rewrite !curve_left by auto. lra. }
  (* the outputs that are more likely on 0 are all those up to some number *)
  set (s := fun k => if Rle_dec (a * noise D k) (noise 0 k) then 1 else 0). assert (S01 : forall k, 0 <= s k <= 1) by (intros k; unfold s; destruct (Rle_dec _ _); lra).
  assert (SF : forall k, s (k + 1)%Z <= s k).
  { intros k. unfold s. destruct (Rle_dec (a * noise D (k + 1)) (noise 0 (k + 1))) as [X|X], (Rle_dec (a * noise D k) (noise 0 k)) as [Y|Y]; try lra. exfalso. apply Y.
    unfold noise, discrete in *. fold weight total in X |- *. assert (T := total_pos). assert (V := Rinv_0_lt_compat _ T).
    assert (X' : a * weight (k + 1 - D) <= weight (k + 1 - 0)) by (apply Rmult_le_reg_r with (/ total); auto; unfold Rdiv in X; lra).
    assert (Z : a * weight (k - D) <= weight (k - 0)); [|unfold Rdiv; assert (a * weight (k - D) * / total <= weight (k - 0) * / total) by (apply Rmult_le_compat_r; lra); lra].
    assert (LC : weight (k + 1 - 0) * weight (k - D) <= weight (k - 0) * weight (k + 1 - D)).
    { unfold weight, Discrete.weight. rewrite <- !exp_plus. apply exp_le. rewrite <- !Ropp_plus_distr, <- !Rmult_plus_distr_l, <- !plus_IZR.
      apply Ropp_le_contravar, Rmult_le_compat_l; [lra|]. apply IZR_le. unfold Discrete.size. destruct square; nia. }
    assert (W1 := weight_pos (k + 1 - D)). assert (W2 := weight_pos (k - D)). apply Rmult_le_reg_r with (weight (k + 1 - D)); auto.
    assert (a * weight (k + 1 - D) * weight (k - D) <= weight (k + 1 - 0) * weight (k - D)) by (apply Rmult_le_compat_r; lra). lra. }
  assert (EX : forall c, exists v, is_int counts (fun k => s k * noise c k) v).
  { intros c. apply (counts_exists _ (noise c) 1); [|apply noise_int]. intros k. cbv beta. specialize (S01 k). assert (N := noise_ge0 c k). nra. }
  destruct (EX 0%Z) as [u U]. destruct (EX D) as [v V]. destruct (EX (D + 1)%Z) as [v' V'].
  assert (L : v' <= v).
  { assert (V1 := counts_shift _ _ (-1) (fun k => Rmult_le_pos _ _ (proj1 (S01 k)) (noise_ge0 (D + 1) k)) V').
    refine (int_le counts _ _ _ _ _ V1 V). intros k. cbv beta. replace (noise (D + 1) (k - -1)) with (noise D k) by (unfold noise, discrete; now replace (k - -1 - (D + 1))%Z with (k - D)%Z by ring).
    replace (k - -1)%Z with (k + 1)%Z by lia. apply Rmult_le_compat_r; [apply noise_ge0|apply SF]. }
  assert (E : curve D a = u - a * v).
  { apply (int_unique counts _ _ _ (curve_int D a)). apply (int_ext counts (fun k => s k * noise 0 k - a * (s k * noise D k))); [|apply int_minus; auto; now apply int_scal].
    intros k. unfold s. destruct (Rle_dec _ _) as [X|X]; [rewrite pos_of_pos|rewrite pos_of_neg]; lra. }
  assert (G : u - a * v' <= curve (D + 1) a).
  { refine (int_le counts _ _ _ _ _ (int_minus counts _ _ _ _ U (int_scal counts a _ _ V')) (curve_int (D + 1) a)). intros k. cbv beta. specialize (S01 k).
    assert (X := pos_ge0 (noise 0 k - a * noise (D + 1) k)). assert (Y : noise 0 k - a * noise (D + 1) k <= pos (noise 0 k - a * noise (D + 1) k)) by apply Rmax_r. nra. }
  rewrite E. assert (a * v' <= a * v) by (apply Rmult_le_compat_l; lra). lra. Qed.
Lemma curve_grows d D a : (0 <= d <= D)%Z -> curve d a <= curve D a.
Proof. intros H. replace D with (d + (D - d))%Z by ring. assert (N : (0 <= D - d)%Z) by lia. generalize (D - d)%Z, N. apply natlike_ind; [rewrite Z.add_0_r; lra|].
  intros n Hn IH. eapply Rle_trans; [exact IH|]. unfold Z.succ. rewrite Z.add_assoc. apply curve_more. lia. Qed.
Theorem discrete_exact c c' D a : (Z.abs (c - c') <= D)%Z -> upto counts (fun k => pos (noise c k - a * noise c' k)) (curve D a).
Proof. intros H. exists (fun k => pos (noise c k - a * noise c' k)), (curve (Z.abs (c - c')) a). split; [intros; apply Rle_refl|split; [apply curve_moved|]]. apply curve_grows. lia. Qed.
(* the event {k <= t} *)
Lemma event_int m c : is_int counts (fun k => up_to m k * noise c k) (summed (fun k => up_to m k * noise c k)).
Proof. destruct (counts_exists (fun k => up_to m k * noise c k) (noise c) 1) as [v V]; [|apply noise_int|exact (proj1 (summed_int _ _ V))].
  intros k. cbv beta. assert (N := noise_ge0 c k). destruct (up_to_is m k) as [-> | ->]; lra. Qed.
Theorem discrete_gain_int D m a : is_int counts (fun k => up_to m k * (noise 0 k - a * noise D k)) (discrete_gain square r D m a).
Proof. apply (int_ext counts (fun k => up_to m k * noise 0 k - a * (up_to m k * noise D k))); [intros; ring|]. apply int_minus; [apply event_int|apply int_scal, event_int]. Qed.
Lemma event_range m c : 0 <= summed (fun k => up_to m k * noise c k) <= 1.
Proof. split; [refine (int_ge0 counts _ _ _ (event_int m c))|refine (int_le counts _ _ _ _ _ (event_int m c) (noise_int c))]; intros k;
    assert (N := noise_ge0 c k); cbv beta; destruct (up_to_is m k) as [-> | ->]; lra. Qed.
Lemma curve_swapped D a : (0 <= D)%Z -> is_int counts (fun k => pos (noise D k - a * noise 0 k)) (curve D a).
Proof. intros H. assert (K := curve_moved D 0 a). now rewrite Z.sub_0_r, Z.abs_eq in K by auto. Qed.
End Noise.
(* Discrete Laplace noise has bounded losses. *)
Lemma discrete_ratio r D k : 0 < r -> (0 <= D)%Z -> discrete false r 0 k <= exp (r * IZR D) * discrete false r D k.
Proof. intros Hr HD. assert (T := total_pos false r Hr). unfold discrete, Rdiv. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|].
  unfold weight. rewrite <- exp_plus. apply exp_le. assert (IZR (size false (k - D)) <= IZR (size false (k - 0)) + IZR D) by (rewrite <- plus_IZR; apply IZR_le; cbn; lia). nra. Qed.
Lemma discrete_end r D a : 0 < r -> (0 <= D)%Z -> exp (r * IZR D) <= a -> discrete_curve false r D a <= 0.
Proof. intros Hr HD H. refine (int_le counts _ _ _ _ _ (curve_int false r Hr D a) (int_zero counts)). intros k. right. apply pos_of_neg.
  assert (K := discrete_ratio r D k Hr HD). assert (N := noise_ge0 false r Hr D k). assert (exp (r * IZR D) * discrete false r D k <= a * discrete false r D k) by (apply Rmult_le_compat_r; auto). lra. Qed.

(* ---------- a window, in integers ---------- *)
Open Scope Z_scope.
Fixpoint places (n : nat) : list Z := match n with O => [0] | Datatypes.S m => Z.of_nat n :: - Z.of_nat n :: places m end.
(* the sum of (m p / u - n q / v)_+ over pairs, times u v *)
Fixpoint excess (n m u v : Z) (ps qs : list Z) : Z :=
  match ps, qs with p :: ps, q :: qs => Z.max 0 (m * p * v - n * q * u) + excess n m u v ps qs | _, _ => 0 end.
Section Window.
Variable W : Z.
Let U := unit W.
Definition times (X Y : range) : range := (Z.shiftr (fst X * fst Y) W, - Z.shiftr (- (snd X * snd Y)) W).
(* the weights of 0, 1, ..., n: each is the one before times u, and u goes on to u v *)
Fixpoint table (v : range) (n : nat) (w u : range) : list range :=
  match n with O => [w] | Datatypes.S n => w :: table v n (times w u) (times u v) end.
Definition inverse (X : range) : range := (U * U / snd X, ceiling (U * U) (fst X)).
Variables (square : bool) (r_num r_den terms D : Z) (n : nat).
Definition weights : list range :=
  let e p := inverse (expo W terms (quotient_range W p r_den)) in
  table (if square then e (2 * r_num) else (U, U)) (n + Z.to_nat D + 1) (U, U) (e r_num).
(* integers around: a weight, all beyond a window on either side where n + 1 has this one, and the sum of all *)
Record window := { tops : list Z; bottoms_moved : list Z; bottoms : list Z; tops_moved : list Z; outside : Z; outside_moved : Z; least_total : Z; most_total : Z }.
Definition window_of : window :=
  let T := weights in let near k := nth (Z.abs_nat k) T (0, 0) in let l := places n in
  let beyond k := 2 * ceiling (snd (near k) * (r_num + r_den)) r_num in
  let hs := map (fun k => snd (near k)) l in let ls := map (fun k => fst (near k)) l in let n1 := Z.of_nat n + 1 in
  {| tops := hs; bottoms_moved := map (fun k => fst (near (k - D))) l; bottoms := ls; tops_moved := map (fun k => snd (near (k - D))) l;
     outside := beyond n1; outside_moved := beyond (n1 - D); least_total := sumv ls; most_total := sumv hs + beyond n1 |}.
(* m times the curve at x / m, times least_total, is at most this *)
Definition excess_window (c : window) (x m : Z) : Z := excess x m 1 1 (outside c :: tops c) (0 :: bottoms_moved c).
(* whether the gain of the event {k <= t} is at least d / 2^W at a / 2^W *)
Fixpoint sum_up_to (t : Z) (ks xs : list Z) : Z :=
  match ks, xs with k :: ks, x :: xs => (if k <=? t then x else 0) + sum_up_to t ks xs | _, _ => 0 end.
Definition dot_discrete (c : window) (a t d : Z) : bool :=
  Z.max 0 d * most_total c <=? sum_up_to t (places n) (bottoms c) * U - a * (sum_up_to t (places n) (tops_moved c) + outside_moved c).
End Window.

(* ---------- what it encloses ---------- *)
Open Scope R_scope.
Lemma places_sum f n : S f (places n) = two_sided f n.
Proof. induction n as [|n IH]; cbn [places S two_sided]; [ring|rewrite IH; ring]. Qed.
Lemma places_within n k : In k (places n) -> (Z.abs k <= Z.of_nat n)%Z.
Proof. induction n as [|n IH]; cbn [places In]; [intros [<-|[]]; cbn; lia|]. intros [H|[H|H]]; [lia|lia|specialize (IH H); lia]. Qed.
Lemma sumv_sum {T} (f : T -> Z) l : IZR (sumv (map f l)) = S (fun k => IZR (f k)) l.
Proof. induction l as [|k l IH]; cbn [map sumv S]; [auto|now rewrite plus_IZR, IH]. Qed.
Lemma sum_up_to_sum t (f : Z -> Z) l : IZR (sum_up_to t l (map f l)) = S (fun k => IZR (if (k <=? t)%Z then f k else 0%Z)) l.
Proof. induction l as [|k l IH]; cbn [map sum_up_to S]; [auto|now rewrite plus_IZR, IH]. Qed.
Lemma S_le_in {T} (f g : T -> R) l : (forall x, In x l -> f x <= g x) -> S f l <= S g l.
Proof. intros H. induction l as [|x l IH]; cbn [S]; [lra|]. assert (A := H x (or_introl eq_refl)). assert (B := IH (fun y Hy => H y (or_intror Hy))). lra. Qed.
Lemma IZR_max0 z : IZR (Z.max 0 z) = pos (IZR z).
Proof. apply Z.max_case_strong; intros H; apply IZR_le in H; [rewrite pos_of_neg|rewrite pos_of_pos]; auto. Qed.
Lemma excess_ok n m u v ps : (0 < u)%Z -> (0 < v)%Z -> forall qs,
  IZR (excess n m u v ps qs) = IZR u * IZR v * S (fun x => pos (IZR m * (IZR (fst x) / IZR u) - IZR n * (IZR (snd x) / IZR v))) (combine ps qs).
Proof. intros U V. apply IZR_lt in U, V. assert (UV : 0 < IZR u * IZR v) by now apply Rmult_lt_0_compat.
  induction ps as [|p ps IH]; intros [|q qs]; cbn [excess combine S fst snd]; try ring.
  rewrite plus_IZR, IH, IZR_max0, minus_IZR, !mult_IZR, Rmult_plus_distr_l. f_equal. rewrite pos_scal by lra. f_equal. field. lra. Qed.
Lemma combine_maps {T} (f g : T -> Z) h l : S h (combine (map f l) (map g l)) = S (fun k => h (f k, g k)) l.
Proof. induction l as [|k l IH]; cbn [map combine S]; [auto|now rewrite IH]. Qed.
Section Right.
Variables (W : Z) (square : bool) (r_num r_den terms D : Z) (n : nat).
Let U := unit W.
Let s := IZR U.
Hypothesis HW : (0 <= W)%Z.
Hypothesis Hn : (0 < r_num)%Z.
Hypothesis Hd : (0 < r_den)%Z.
Hypothesis Ht : (0 <= terms)%Z.
Hypothesis HD : (0 <= D <= Z.of_nat n)%Z.
Let r := IZR r_num / IZR r_den.
Let weight := weight square r.
Let total := summed weight.
Let T := weights W square r_num r_den terms D n.
Let c := window_of W square r_num r_den terms D n.
Lemma r_pos : 0 < r.
Proof. apply Rdiv_lt_0_compat; now apply IZR_lt. Qed.
Lemma s_gt0 : 0 < s.
Proof. exact (unit_gt0 W HW). Qed.
Definition around (X : range) (x : R) := (0 <= fst X)%Z /\ IZR (fst X) <= s * x <= IZR (snd X).
Lemma times_ok X Y x y : around X x -> around Y y -> around (times W X Y) (x * y).
Proof. intros [X0 [X1 X2]] [Y0 [Y1 Y2]]. assert (SR := s_gt0). apply IZR_le in X0, Y0. assert (SS : IZR (2 ^ W) = s) by exact (unit_pow W).
  assert (L := shiftr_le W HW (fst X * fst Y)). assert (G := shiftr_ge W HW (snd X * snd Y)). rewrite SS, mult_IZR in L, G. unfold around, times. cbn [fst snd].
  assert (A : IZR (fst X) * IZR (fst Y) <= s * x * (s * y)) by (apply Rmult_le_compat; auto).
  assert (B : s * x * (s * y) <= IZR (snd X) * IZR (snd Y)) by (apply Rmult_le_compat; lra).
  assert (N : forall z, z / s <= s * (x * y) <-> z <= s * x * (s * y)).
  { intros z. split; intros H; [apply (Rmult_le_compat_r s) in H; [|lra]; unfold Rdiv in H; rewrite Rmult_assoc, Rinv_l in H; lra|].
    apply Rmult_le_reg_r with s; auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
  split; [apply Z.shiftr_nonneg; apply Z.mul_nonneg_nonneg; now apply le_IZR|]. split; [eapply Rle_trans; [exact L|now apply N]|]. eapply Rle_trans; [|exact G].
  apply Rmult_le_reg_r with s; auto. unfold Rdiv. rewrite (Rmult_assoc (_ * _)), Rinv_l; lra. Qed.
Lemma table_ok v (f g : nat -> R) h m : around v h -> (forall j, f (Datatypes.S j) = f j * g j) -> (forall j, g (Datatypes.S j) = g j * h) ->
  forall j w u, around w (f j) -> around u (g j) -> forall k, (k <= m)%nat -> around (nth k (table W v m w u) (0, 0)%Z) (f (j + k)%nat).
Proof. intros V F G. induction m as [|m IH]; intros j w u A B k K; cbn [table].
  - replace k with 0%nat by lia. now rewrite Nat.add_0_r.
  - destruct k as [|k]; cbn [nth]; [now rewrite Nat.add_0_r|]. rewrite Nat.add_succ_r, <- Nat.add_succ_l. apply IH; [rewrite F; now apply times_ok|rewrite G; now apply times_ok|lia]. Qed.
Lemma inverse_ok p : (0 <= p)%Z -> around (inverse W (expo W terms (quotient_range W p r_den))) (exp (- (IZR p / IZR r_den))).
Proof. intros P. destruct (expo_ok W HW terms (quotient_range W p r_den) _ Ht (quotient_range_ok W HW p r_den P Hd)) as [A B].
  set (E := expo _ _ _) in *. assert (SP : (0 < 2 ^ W)%Z) by (apply Z.pow_pos_nonneg; lia). assert (F : (0 < fst E)%Z) by lia. assert (X := exp_pos (IZR p / IZR r_den)).
  destruct (holds_inverse W HW E _ A F X) as [C1 C2]. rewrite <- exp_Ropp in C1, C2. split; [|split; [exact C1|exact C2]]. cbn [inverse fst].
  destruct A as [_ [A1 A2]]. assert (UP := unit_pos W HW). apply Z.div_pos; [nia|]. apply lt_IZR. apply IZR_lt in F. lra. Qed.
Lemma weight_step j : weight (Z.of_nat (Datatypes.S j)) = weight (Z.of_nat j) * exp (- (r * IZR (if square then 2 * Z.of_nat j + 1 else 1)%Z)).
Proof. unfold weight, Discrete.weight. rewrite <- exp_plus. f_equal. rewrite <- Ropp_plus_distr, <- Rmult_plus_distr_l, <- plus_IZR. do 3 f_equal. unfold size. destruct square; nia. Qed.
Lemma at_ok k : (Z.abs k <= Z.of_nat n + D + 1)%Z -> around (nth (Z.abs_nat k) T (0, 0)%Z) (weight k).
Proof. intros K. assert (EK : weight k = weight (Z.of_nat (0 + Z.abs_nat k))).
  { rewrite Nat.add_0_l, Zabs2Nat.id_abs. destruct (Z.abs_eq_or_opp k) as [-> | ->]; [auto|]. unfold weight. now rewrite weight_even. }
  rewrite EK. unfold T, weights. assert (one : around (unit W, unit W) 1) by (split; [apply Z.lt_le_incl, (unit_pos W HW)|cbn [fst snd]; fold U s; lra]).
  apply table_ok with (f := fun j => weight (Z.of_nat j)) (g := fun j => exp (- (r * IZR (if square then 2 * Z.of_nat j + 1 else 1)%Z))) (h := if square then exp (- (r * 2)) else 1).
  - destruct square; [|exact one]. replace (r * 2) with (IZR (2 * r_num) / IZR r_den) by (unfold r; rewrite mult_IZR; unfold Rdiv; ring). apply inverse_ok. lia.
  - exact weight_step.
  - intros j. destruct square; [|ring]. rewrite <- exp_plus. f_equal. rewrite <- Ropp_plus_distr, <- Rmult_plus_distr_l, <- plus_IZR. do 3 f_equal. lia.
  - unfold weight, Discrete.weight. replace (size square (Z.of_nat 0)) with 0%Z by (unfold size; destruct square; reflexivity). rewrite Rmult_0_r, Ropp_0, exp_0. exact one.
  - replace (r * IZR (if square then 2 * Z.of_nat 0 + 1 else 1)%Z) with (IZR r_num / IZR r_den) by (unfold r; destruct square; cbn; ring). apply inverse_ok. lia.
  - lia. Qed.
Lemma outside_ok k : (0 <= k <= Z.of_nat n + 1)%Z -> 2 * (s * weight k * (1 + / r)) <= IZR (2 * ceiling (snd (nth (Z.abs_nat k) T (0, 0)) * (r_num + r_den)) r_num)%Z.
Proof. intros K. destruct (at_ok k ltac:(lia)) as [_ [_ A]]. set (X := snd (nth (Z.abs_nat k) T (0, 0)%Z)) in *. assert (N := IZR_lt _ _ Hn). assert (Dn := IZR_lt _ _ Hd). rewrite mult_IZR.
  apply Rmult_le_compat_l; [lra|]. eapply Rle_trans; [|now apply ceiling_ge]. rewrite mult_IZR, plus_IZR. replace (1 + / r) with ((IZR r_num + IZR r_den) / IZR r_num) by (unfold r; field; lra).
  unfold Rdiv. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|]. apply Rmult_le_compat_r; lra. Qed.
Lemma weight_le k : 0 <= weight k.
Proof. left. apply weight_pos. Qed.
Lemma totals : IZR (least_total c) <= s * total <= IZR (most_total c) /\ 0 < total.
Proof. assert (R := r_pos). assert (SR := s_gt0). unfold c, window_of. cbv zeta. cbn [least_total most_total]. fold T. split; [split|now apply total_pos].
  - rewrite sumv_sum. apply Rle_trans with (S (fun k => s * weight k) (places n)).
    + apply S_le_in. intros k K. apply places_within in K. apply at_ok. lia.
    + rewrite S_scal, places_sum. apply Rmult_le_compat_l; [lra|]. apply counts_part; [intros; apply weight_le|now apply total_int].
  - rewrite plus_IZR, sumv_sum. destruct (weights_beyond square r R weight n 0 ltac:(lia)) as [v [V L]].
    { intros k. rewrite Z.sub_0_r. split; [apply weight_le|apply Rle_refl]. }
    fold weight in L. assert (E : v = total) by (symmetry; exact (proj2 (summed_int _ _ V))). subst v. assert (O := outside_ok (Z.of_nat n + 1) ltac:(lia)).
    replace (Z.of_nat (Datatypes.S n) - 0)%Z with (Z.of_nat n + 1)%Z in L by lia.
    assert (H : s * two_sided weight n <= S (fun k => IZR (snd (nth (Z.abs_nat k) T (0, 0)%Z))) (places n)).
    { rewrite <- places_sum, <- S_scal. apply S_le_in. intros k K. apply places_within in K. apply at_ok. lia. }
    apply (Rmult_le_compat_l s) in L; [|lra]. lra. Qed.
Theorem excess_window_ok x m : (0 <= x)%Z -> (0 < m)%Z -> IZR m * discrete_curve square r D (IZR x / IZR m) * IZR (least_total c) <= IZR (excess_window c x m).
Proof. intros X M. assert (R := r_pos). assert (SR := s_gt0). apply IZR_lt in M. apply IZR_le in X. destruct totals as [[L _] TP]. set (a := IZR x / IZR m).
  assert (A0 : 0 <= a) by (apply Rmult_le_pos; [auto|left; now apply Rinv_0_lt_compat]). set (C := discrete_curve square r D a). assert (C0 : 0 <= C) by now apply curve_ge0.
  set (f := fun k => pos (weight k - a * weight (k - D))).
  assert (CI : is_int counts f (total * C)).
  { apply (int_ext counts (fun k => total * pos (discrete square r 0 k - a * discrete square r D k))); [|apply int_scal; now apply curve_int].
    intros k. rewrite pos_scal by lra. unfold f, discrete. fold weight total. f_equal. rewrite Z.sub_0_r. field. lra. }
  destruct (weights_beyond square r R f n 0 ltac:(lia)) as [v [V LV]].
  { intros k. rewrite Z.sub_0_r. fold weight. split; [apply pos_ge0|]. apply Rmax_lub; [apply weight_le|]. assert (0 <= a * weight (k - D)) by (apply Rmult_le_pos; [auto|apply weight_le]). lra. }
  fold weight in LV. rewrite (int_unique counts _ _ _ V CI) in LV. replace (Z.of_nat (Datatypes.S n) - 0)%Z with (Z.of_nat n + 1)%Z in LV by lia.
  assert (O := outside_ok (Z.of_nat n + 1) ltac:(lia)). apply Rle_trans with (IZR m * (s * (total * C))).
  { replace (IZR m * C * IZR (least_total c)) with (IZR m * C * IZR (least_total c) + 0) by ring. replace (IZR m * (s * (total * C))) with (IZR m * C * (s * total)) by ring.
    rewrite Rplus_0_r. apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|exact L]. }
  apply Rle_trans with (IZR m * (s * two_sided f n + 2 * (s * weight (Z.of_nat n + 1) * (1 + / r)))).
  { apply Rmult_le_compat_l; [lra|]. apply (Rmult_le_compat_l s) in LV; lra. }
  unfold excess_window. cbn [excess]. rewrite plus_IZR, IZR_max0, excess_ok by lia. unfold c, window_of. cbv zeta. cbn [outside tops bottoms_moved]. fold T. rewrite combine_maps.
  set (b := (2 * ceiling _ _)%Z) in *. rewrite pos_of_pos.
  2:{ rewrite minus_IZR, !mult_IZR. assert (0 <= IZR b) by (eapply Rle_trans; [|exact O]; apply Rmult_le_pos; [lra|]; apply Rmult_le_pos; [apply Rmult_le_pos; [lra|apply weight_le]|]; assert (Y := Rinv_0_lt_compat _ R); lra).
    assert (0 <= IZR m * IZR b) by (apply Rmult_le_pos; lra). lra. }
  rewrite minus_IZR, !mult_IZR, Rmult_plus_distr_l. rewrite Rplus_comm. apply Rplus_le_compat; [assert (IZR m * (2 * (s * weight (Z.of_nat n + 1) * (1 + / r))) <= IZR m * IZR b) by (apply Rmult_le_compat_l; lra); lra|].
  rewrite <- places_sum, <- !S_scal. apply S_le_in. intros k K. apply places_within in K. cbn [fst snd].
  destruct (at_ok k ltac:(lia)) as [_ [_ A1]]. destruct (at_ok (k - D) ltac:(lia)) as [_ [A2 _]]. unfold f. rewrite !pos_scal, !Rmult_1_l by lra. apply pos_le.
  unfold Rdiv. rewrite Rinv_1, !Rmult_1_r. assert (XE : IZR x = IZR m * a) by (unfold a; field; lra). rewrite XE.
  replace (IZR m * (s * (weight k - a * weight (k - D)))) with (IZR m * (s * weight k) - IZR m * a * (s * weight (k - D))) by ring.
  assert (IZR m * (s * weight k) <= IZR m * IZR (snd (nth (Z.abs_nat k) T (0, 0)%Z))) by (apply Rmult_le_compat_l; lra).
  assert (0 <= IZR m * a) by (apply Rmult_le_pos; lra).
  assert (IZR m * a * IZR (fst (nth (Z.abs_nat (k - D)) T (0, 0)%Z)) <= IZR m * a * (s * weight (k - D))) by (apply Rmult_le_compat_l; lra). lra. Qed.
Theorem dot_discrete_ok a t d : (0 <= a)%Z -> dot_discrete W n c a t d = true -> IZR d / s <= discrete_gain square r D t (IZR a / s).
Proof. intros A0 H. assert (R := r_pos). assert (SR := s_gt0). destruct totals as [[_ M] TP]. apply IZR_le in A0. apply Z.leb_le, IZR_le in H. unfold discrete_gain.
  assert (LOW : IZR (sum_up_to t (places n) (bottoms c)) <= s * (total * summed (fun k => up_to t k * discrete square r 0 k))).
  { assert (I : is_int counts (fun k => up_to t k * weight k) (total * summed (fun k => up_to t k * discrete square r 0 k))).
    { apply (int_ext counts (fun k => total * (up_to t k * discrete square r 0 k))); [|apply int_scal; now apply event_int].
      intros k. unfold discrete. fold weight total. rewrite Z.sub_0_r. field. lra. }
    unfold c, window_of. cbv zeta. cbn [bottoms]. fold T. rewrite sum_up_to_sum. apply Rle_trans with (S (fun k => s * (up_to t k * weight k)) (places n)).
    - apply S_le_in. intros k K. apply places_within in K. destruct (at_ok k ltac:(lia)) as [_ [B _]]. unfold up_to. destruct (k <=? t)%Z; lra.
    - rewrite S_scal, places_sum. apply Rmult_le_compat_l; [lra|]. apply counts_part; auto. intros k. assert (X := weight_le k). destruct (up_to_is t k) as [-> | ->]; lra. }
  assert (HIGH : s * (total * summed (fun k => up_to t k * discrete square r D k)) <= IZR (sum_up_to t (places n) (tops_moved c)) + IZR (outside_moved c)).
  { set (f := fun k => up_to t k * weight (k - D)).
    assert (I : is_int counts f (total * summed (fun k => up_to t k * discrete square r D k))).
    { apply (int_ext counts (fun k => total * (up_to t k * discrete square r D k))); [|apply int_scal; now apply event_int]. intros k. unfold f, discrete. fold weight total. field. lra. }
    destruct (weights_beyond square r R f n D HD) as [v [V L]].
    { intros k. fold weight. assert (X := weight_le (k - D)). unfold f. destruct (up_to_is t k) as [-> | ->]; lra. }
    rewrite (int_unique counts _ _ _ V I) in L. fold weight in L. replace (Z.of_nat (Datatypes.S n) - D)%Z with (Z.of_nat n + 1 - D)%Z in L by lia.
    assert (O := outside_ok (Z.of_nat n + 1 - D) ltac:(lia)). unfold c, window_of. cbv zeta. cbn [tops_moved outside_moved]. fold T. rewrite sum_up_to_sum.
    assert (K : s * two_sided f n <= S (fun k => IZR (if (k <=? t)%Z then snd (nth (Z.abs_nat (k - D)) T (0, 0)%Z) else 0%Z)) (places n)).
    { rewrite <- places_sum, <- S_scal. apply S_le_in. intros k K. apply places_within in K. destruct (at_ok (k - D) ltac:(lia)) as [_ [_ B]]. unfold f, up_to. destruct (k <=? t)%Z; lra. }
    apply (Rmult_le_compat_l s) in L; lra. }
  set (F := summed (fun k => up_to t k * discrete square r 0 k)) in *. set (G := summed (fun k => up_to t k * discrete square r D k)) in *.
  rewrite mult_IZR, IZR_max0, minus_IZR, !mult_IZR, plus_IZR in H. fold U s in H. set (g := F - IZR a / s * G).
  assert (E : s * (s * total * g) = s * (total * F) * s - IZR a * (s * (total * G))) by (unfold g; field; lra).
  assert (B1 : IZR (sum_up_to t (places n) (bottoms c)) * s <= s * (total * F) * s) by (apply Rmult_le_compat_r; lra). apply (Rmult_le_compat_l (IZR a)) in HIGH; [|auto].
  assert (P0 := pos_ge0 (IZR d)). assert (P1 : IZR d <= pos (IZR d)) by apply Rmax_r.
  assert (B2 : pos (IZR d) * (s * total) <= pos (IZR d) * IZR (most_total c)) by now apply Rmult_le_compat_l.
  assert (ST : 0 < s * total) by now apply Rmult_lt_0_compat. apply Rmult_le_reg_r with s; auto. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  apply Rle_trans with (pos (IZR d)); auto. apply Rmult_le_reg_r with (s * total); auto. lra. Qed.
End Right.
