(* 19. A Fourier series, from a finite sum.

   For a, b > 0 and 0 <= x < 1, with the m-th wave of a: Re (e^(2 pi i m x) / (a + 2 pi i m)),
     sum_(m >= 1) (wave a - wave b) = (H a x - H b x - (1/a - 1/b)) / 2,   H a x = e^(-a x) / (1 - e^-a).    (atom_series)
   No integral is needed: on a circle of N = 2K + 1 places it is a finite sum,
     sum over frequencies of e^(2 pi i m k / N) / (1 - r e^(-2 pi i m / N)) = N r^k / (1 - r^N),   r = e^(-a/N)   (circle)
   and N goes to infinity term by term, since the m-th terms of the difference are at most const / m^2 (tannery). *)
Require Import Reals Lra Lia ZArith.
From Coquelicot Require Import Coquelicot.
From VerifiedDP Require Import Law.
Open Scope R_scope.

(* ---------- sums ---------- *)
Fixpoint add (f : nat -> R) (n : nat) : R := match n with O => 0 | Datatypes.S n => add f n + f n end.
Lemma add_S f n : add f (Datatypes.S n) = add f n + f n.
Proof. reflexivity. Qed.
Lemma add_ext f g n : (forall i, (i < n)%nat -> f i = g i) -> add f n = add g n.
Proof. induction n as [|n IH]; intros H; simpl; [auto|]. rewrite IH, H; auto. Qed.
Lemma add_plus f g n : add (fun i => f i + g i) n = add f n + add g n.
Proof. induction n as [|n IH]; simpl; [ring|rewrite IH; ring]. Qed.
Lemma add_scal c f n : add (fun i => c * f i) n = c * add f n.
Proof. induction n as [|n IH]; simpl; [ring|rewrite IH; ring]. Qed.
Lemma add_swap f n m : add (fun i => add (fun j => f i j) m) n = add (fun j => add (fun i => f i j) n) m.
Proof. induction n as [|n IH]; simpl; [induction m as [|m IHm]; simpl; [auto|rewrite <- IHm; ring]|]. rewrite IH, <- add_plus. reflexivity. Qed.
Lemma add_one f n k : (k < n)%nat -> (forall i, (i < n)%nat -> i <> k -> f i = 0) -> add f n = f k.
Proof. induction n as [|n IH]; intros K H; [lia|]. simpl. destruct (Nat.eq_dec k n) as [->|D].
  - assert (Z : add f n = 0); [|rewrite Z; ring]. rewrite (add_ext f (fun i => 0 * 0)) by (intros; rewrite H by lia; ring). rewrite add_scal; ring.
  - rewrite IH by (auto; lia). rewrite (H n) by lia. ring. Qed.
Lemma add_telescope f n : add (fun i => f i - f (Datatypes.S i)) n = f O - f n.
Proof. induction n as [|n IH]; simpl; [ring|rewrite IH; ring]. Qed.
Lemma add_lim (t : nat -> nat -> R) (T : nat -> R) n : (forall m, is_lim_seq (fun K => t K m) (T m)) -> is_lim_seq (fun K => add (t K) n) (add T n).
Proof. intros H. induction n as [|n IH]; simpl; [apply is_lim_seq_const|]. apply is_lim_seq_plus'; [exact IH|apply H]. Qed.
Lemma series_add (f : nat -> R) (l : R) : is_lim_seq (add f) l -> is_series f l.
Proof. intros H. apply is_lim_seq_incr_1 in H. apply (is_lim_seq_ext _ (sum_n f)) in H; [exact H|]. intros n. induction n as [|n IH].
  - rewrite sum_O. simpl. ring.
  - rewrite sum_Sn, <- IH. reflexivity. Qed.
Lemma far_terms B K n : (n < K)%nat -> add (fun m => B / (INR m + 1) ^ 2) K - add (fun m => B / (INR m + 1) ^ 2) (Datatypes.S n) <= Rabs B / (INR n + 1).
Proof. intros H. assert (G : forall k, add (fun m => B / (INR m + 1) ^ 2) (Datatypes.S n + k) - add (fun m => B / (INR m + 1) ^ 2) (Datatypes.S n)
    <= Rabs B * (/ (INR n + 1) - / (INR (n + k) + 1))).
  { induction k as [|k IH].
    - rewrite !Nat.add_0_r. replace (/ (INR n + 1) - / (INR n + 1)) with 0 by ring. lra.
    - rewrite Nat.add_succ_r, add_S. replace (n + Datatypes.S k)%nat with (Datatypes.S (n + k)) by lia.
      replace (INR (Datatypes.S n + k)) with (INR (n + k) + 1) by (rewrite <- S_INR; f_equal). rewrite S_INR. set (x := INR (n + k)) in *. assert (X : 0 <= x) by apply pos_INR.
      assert (Q : B / (x + 1 + 1) ^ 2 <= Rabs B * (/ (x + 1) - / (x + 1 + 1))).
      { replace (/ (x + 1) - / (x + 1 + 1)) with (/ ((x + 1) * (x + 1 + 1))) by (field; lra). unfold Rdiv.
        apply Rle_trans with (Rabs B * / (x + 1 + 1) ^ 2).
        - apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; nra|apply Rle_abs].
        - apply Rmult_le_compat_l; [apply Rabs_pos|]. apply Rinv_le_contravar; nra. }
      lra. }
  specialize (G (K - Datatypes.S n)%nat). replace (Datatypes.S n + (K - Datatypes.S n))%nat with K in G by lia. eapply Rle_trans; [exact G|].
  unfold Rdiv. apply Rmult_le_compat_l; [apply Rabs_pos|]. assert (0 < / (INR (n + (K - Datatypes.S n)) + 1)) by (apply Rinv_0_lt_compat; assert (P := pos_INR (n + (K - Datatypes.S n))); lra). lra. Qed.
(* Sums of K terms whose limit is known, term by term. *)
Theorem tannery (t : nat -> nat -> R) (T : nat -> R) (B L : R) : (forall m, is_lim_seq (fun K => t K m) (T m)) ->
  (forall K m, (m < K)%nat -> Rabs (t K m) <= B / (INR m + 1) ^ 2) -> is_lim_seq (fun K => add (t K) K) L -> is_series T L.
Proof. intros HT HB HL. apply series_add. apply is_lim_seq_incr_1. apply is_lim_seq_spec. intros e. assert (E := cond_pos e).
  assert (AB : 0 <= Rabs B) by apply Rabs_pos.
  destruct (archimed_cor1 (e / (3 * (Rabs B + 1)))) as [M [HM M0]]; [apply Rdiv_lt_0_compat; lra|].
  exists M. intros n Hn. assert (IM : 0 < INR M) by (apply lt_0_INR; lia). assert (IN : INR M <= INR n) by (now apply le_INR).
  assert (TL : Rabs B / (INR n + 1) < e / 3).
  { apply Rmult_lt_reg_r with (INR n + 1); [lra|]. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    apply Rmult_lt_compat_r with (r := INR M) in HM; [|auto]. rewrite Rinv_l in HM by lra.
    replace (e / (3 * (Rabs B + 1)) * INR M) with (e * INR M / (3 * (Rabs B + 1))) in HM by (field; lra).
    apply Rmult_lt_compat_r with (r := 3 * (Rabs B + 1)) in HM; [|lra]. unfold Rdiv in HM. rewrite (Rmult_assoc (e * INR M)), Rinv_l in HM by lra.
    assert (e * INR M <= e * INR n) by (apply Rmult_le_compat_l; lra). lra. }
  assert (H1 := add_lim t T (Datatypes.S n) HT). apply is_lim_seq_spec in H1. apply is_lim_seq_spec in HL.
  assert (E3 : 0 < e / 3) by lra. destruct (H1 (mkposreal _ E3)) as [K1 HK1]. destruct (HL (mkposreal _ E3)) as [K2 HK2]. simpl in HK1, HK2.
  set (K := (K1 + K2 + Datatypes.S n + 1)%nat). specialize (HK1 K ltac:(unfold K; lia)). specialize (HK2 K ltac:(unfold K; lia)).
  assert (FT : Rabs (add (t K) K - add (t K) (Datatypes.S n)) <= Rabs B / (INR n + 1)).
  { eapply Rle_trans; [|apply (far_terms B K n); unfold K; lia].
    assert (G : forall k, (Datatypes.S n + k <= K)%nat -> Rabs (add (t K) (Datatypes.S n + k) - add (t K) (Datatypes.S n))
      <= add (fun m => B / (INR m + 1) ^ 2) (Datatypes.S n + k) - add (fun m => B / (INR m + 1) ^ 2) (Datatypes.S n)).
    { induction k as [|k IH]; intros HK.
      - rewrite !Nat.add_0_r, !Rminus_eq_0, Rabs_R0. lra.
      - rewrite Nat.add_succ_r. specialize (IH ltac:(lia)). assert (X := HB K (Datatypes.S n + k)%nat ltac:(lia)).
        change (add (t K) (Datatypes.S (Datatypes.S n + k))) with (add (t K) (Datatypes.S n + k) + t K (Datatypes.S n + k)%nat).
        change (add (fun m => B / (INR m + 1) ^ 2) (Datatypes.S (Datatypes.S n + k))) with (add (fun m => B / (INR m + 1) ^ 2) (Datatypes.S n + k) + B / (INR (Datatypes.S n + k) + 1) ^ 2).
        replace (add (t K) (Datatypes.S n + k) + t K (Datatypes.S n + k)%nat - add (t K) (Datatypes.S n))
          with ((add (t K) (Datatypes.S n + k) - add (t K) (Datatypes.S n)) + t K (Datatypes.S n + k)%nat) by ring.
        eapply Rle_trans; [apply Rabs_triang|]. lra. }
    specialize (G (K - Datatypes.S n)%nat ltac:(lia)). replace (Datatypes.S n + (K - Datatypes.S n))%nat with K in G by (unfold K; lia). exact G. }
  apply Rabs_lt_between in HK1. apply Rabs_lt_between in HK2. apply Rabs_le_between in FT. apply Rabs_lt_between. rewrite !add_S in *. lra. Qed.

(* ---------- a circle of N places ---------- *)
Section Circle.
Variables (K k : nat) (r : R).
Hypothesis Hr : 0 < r < 1.
Let N := (2 * K + 1)%nat.
Hypothesis Hk : (k < N)%nat.
Lemma N_pos : 0 < INR N.
Proof. apply lt_0_INR. unfold N; lia. Qed.
Definition phi (m : nat) : R := 2 * PI * INR m / INR N.
Definition near (m : nat) : R := 1 - 2 * r * cos (phi m) + r ^ 2.
(* Re (e^(i k phi) / (1 - r e^(-i phi))) *)
Definition place (m : nat) : R := (cos (INR k * phi m) - r * cos ((INR k + 1) * phi m)) / near m.
Lemma near_ge m : (1 - r) ^ 2 <= near m.
Proof. unfold near. assert (B := COS_bound (phi m)). nra. Qed.
Lemma near_pos m : 0 < near m.
Proof. assert (A := near_ge m). nra. Qed.
Lemma geometric m n : near m * add (fun j => r ^ j * cos ((INR k - INR j) * phi m)) n
  = cos (INR k * phi m) - r * cos ((INR k + 1) * phi m) - (r ^ n * cos ((INR k - INR n) * phi m) - r ^ (n + 1) * cos ((INR k - INR n + 1) * phi m)).
Proof. rewrite <- add_scal. set (f := fun j => r ^ j * cos ((INR k - INR j) * phi m) - r ^ (j + 1) * cos ((INR k - INR j + 1) * phi m)).
  rewrite (add_ext _ (fun j => f j - f (Datatypes.S j))).
  - rewrite add_telescope. unfold f. simpl. rewrite Rminus_0_r. ring.
  - intros j _. unfold f, near. rewrite S_INR. set (u := (INR k - INR j) * phi m). set (v := phi m).
    replace ((INR k - (INR j + 1)) * v) with (u - v) by (unfold u, v; ring). replace ((INR k - INR j + 1) * v) with (u + v) by (unfold u, v; ring).
    replace ((INR k - (INR j + 1) + 1) * v) with u by (unfold u, v; ring). rewrite cos_minus, cos_plus. rewrite !pow_add. simpl. ring. Qed.
Lemma place_sum m : place m * (1 - r ^ N) = add (fun j => r ^ j * cos ((INR k - INR j) * phi m)) N.
Proof. assert (P := near_pos m). apply Rmult_eq_reg_l with (near m); [|lra]. rewrite geometric. unfold place.
  assert (NP := N_pos). assert (E : INR N * phi m = 2 * INR m * PI) by (unfold phi; field; lra).
  replace ((INR k - INR N) * phi m) with (INR k * phi m - 2 * INR m * PI) by (rewrite <- E; ring).
  replace ((INR k - INR N + 1) * phi m) with ((INR k + 1) * phi m - 2 * INR m * PI) by (rewrite <- E; ring).
  assert (PER : forall u, cos (u - 2 * INR m * PI) = cos u).
  { intros u. rewrite <- (cos_period (u - 2 * INR m * PI) m). f_equal. ring. }
  rewrite !PER. rewrite pow_add. field. lra. Qed.
Lemma dirichlet psi n : sin (psi / 2) * (1 + 2 * add (fun m => cos ((INR m + 1) * psi)) n) = sin ((INR n + / 2) * psi).
Proof. induction n as [|n IH]; cbn [add].
  - simpl. rewrite Rmult_0_r, Rplus_0_r, Rmult_1_r, Rplus_0_l. f_equal. field.
  - rewrite S_INR. replace (sin (psi / 2) * (1 + 2 * (add (fun m => cos ((INR m + 1) * psi)) n + cos ((INR n + 1) * psi))))
      with (sin (psi / 2) * (1 + 2 * add (fun m => cos ((INR m + 1) * psi)) n) + 2 * sin (psi / 2) * cos ((INR n + 1) * psi)) by ring.
    rewrite IH. set (v := (INR n + 1) * psi). replace ((INR n + / 2) * psi) with (v - psi / 2) by (unfold v; field).
    replace ((INR n + 1 + / 2) * psi) with (v + psi / 2) by (unfold v; field). rewrite sin_minus, sin_plus. ring. Qed.
Lemma frequencies j : (j < N)%nat -> 1 + 2 * add (fun m => cos ((INR k - INR j) * phi (Datatypes.S m))) K = if Nat.eq_dec j k then INR N else 0.
Proof. intros Hj. assert (NP := N_pos). set (psi := 2 * PI * (INR k - INR j) / INR N).
  rewrite (add_ext _ (fun m => cos ((INR m + 1) * psi))) by (intros m _; f_equal; unfold phi, psi; rewrite S_INR; field; lra).
  destruct (Nat.eq_dec j k) as [->|D].
  - unfold psi. rewrite (add_ext _ (fun m => 1)).
    + assert (A : forall n, add (fun _ => 1) n = INR n) by (induction n as [|n IH]; [reflexivity|]; cbn [add]; rewrite IH, S_INR; ring).
      rewrite A. unfold N. rewrite plus_INR, mult_INR. simpl. ring.
    + intros m _. replace ((INR m + 1) * (2 * PI * (INR k - INR k) / INR N)) with 0 by (field; lra). apply cos_0.
  - assert (Q := dirichlet psi K). assert (EN : INR N = 2 * INR K + 1) by (unfold N; rewrite plus_INR, mult_INR; simpl; ring).
    replace ((INR K + / 2) * psi) with (IZR (Z.of_nat k - Z.of_nat j) * PI) in Q.
    2:{ unfold psi. rewrite minus_IZR, <- !INR_IZR_INZ. rewrite EN in *. field; lra. }
    assert (S0 : sin (IZR (Z.of_nat k - Z.of_nat j) * PI) = 0) by (apply sin_eq_0_1; now exists (Z.of_nat k - Z.of_nat j)%Z).
    rewrite S0 in Q. apply Rmult_integral in Q as [Q|Q]; [|exact Q]. exfalso.
    apply sin_eq_0_0 in Q as [n Q]. unfold psi in Q. assert (PP := PI_RGT_0).
    assert (E : INR k - INR j = IZR n * INR N).
    { apply Rmult_eq_reg_l with PI; [|lra]. replace (PI * (INR k - INR j)) with (2 * PI * (INR k - INR j) / INR N / 2 * INR N) by (field; lra). rewrite Q. ring. }
    rewrite !INR_IZR_INZ, <- minus_IZR, <- mult_IZR in E. apply eq_IZR in E. assert (n = 0)%Z by nia. subst n. lia. Qed.
Theorem circle : place O + 2 * add (fun m => place (Datatypes.S m)) K = INR N * r ^ k / (1 - r ^ N).
Proof. assert (RN : r ^ N < 1) by (apply (pow_lt_1_compat r N); [lra|unfold N; lia]).
  assert (F : (place O + 2 * add (fun m => place (Datatypes.S m)) K) * (1 - r ^ N) = INR N * r ^ k).
  { rewrite Rmult_plus_distr_r, place_sum, Rmult_assoc, (Rmult_comm (add _ K)), <- add_scal.
    rewrite (add_ext (fun i => (1 - r ^ N) * place (Datatypes.S i)) (fun m => add (fun j => r ^ j * cos ((INR k - INR j) * phi (Datatypes.S m))) N))
      by (intros; rewrite Rmult_comm; apply place_sum).
    rewrite add_swap, <- add_scal, <- add_plus.
    rewrite (add_ext _ (fun j => r ^ j * (1 + 2 * add (fun m => cos ((INR k - INR j) * phi (Datatypes.S m))) K))).
    - rewrite (add_one _ N k Hk).
      + rewrite frequencies by auto. destruct (Nat.eq_dec k k); [ring|easy].
      + intros i Hi D. rewrite frequencies by auto. destruct (Nat.eq_dec i k); [easy|ring].
    - intros j _. rewrite (add_scal (r ^ j)). unfold phi. replace (2 * PI * INR 0 / INR N) with 0 by (simpl; unfold Rdiv; ring).
      rewrite Rmult_0_r, cos_0. ring. }
  rewrite <- F. field. lra. Qed.
End Circle.

(* ---------- as N grows ---------- *)
Lemma exp_near u v : 0 <= u -> 0 <= v -> Rabs (exp (- u) - exp (- v)) <= Rabs (u - v).
Proof. assert (G : forall u v, 0 <= u <= v -> 0 <= exp (- u) - exp (- v) <= v - u).
  { intros a b [A B]. assert (X := exp_pos (- a)). assert (X1 : exp (- a) <= 1) by (rewrite <- exp_0; apply exp_le; lra).
    assert (E : exp (- b) = exp (- a) * exp (- (b - a))) by (rewrite <- exp_plus; f_equal; ring).
    assert (L := exp_ineq1_le (- (b - a))). assert (X2 : exp (- (b - a)) <= 1) by (rewrite <- exp_0; apply exp_le; lra). rewrite E. nra. }
  intros U V. destruct (Rle_dec u v) as [H|H].
  - destruct (G u v ltac:(lra)). rewrite Rabs_pos_eq, Rabs_left1 by lra. lra.
  - destruct (G v u ltac:(lra)). rewrite Rabs_left1, Rabs_pos_eq by lra. lra. Qed.
Lemma sin_third t : 0 <= t <= 2 -> t / 3 <= sin t.
Proof. intros H. destruct (pre_sin_bound t 0 ltac:(lra) ltac:(lra)) as [L _]. eapply Rle_trans; [|exact L].
  unfold sin_approx, sum_f_R0, sin_term. simpl. nra. Qed.
Lemma sin_cubic t : 0 <= t <= 2 -> t - t ^ 3 / 6 <= sin t <= t.
Proof. intros H. split.
  - destruct (pre_sin_bound t 0 ltac:(lra) ltac:(lra)) as [L _]. eapply Rle_trans; [|exact L].
    unfold sin_approx, sum_f_R0, sin_term. simpl. lra.
  - destruct (Req_dec t 0) as [->|D]; [rewrite sin_0; lra|]. left. apply sin_lt_x. lra. Qed.
Definition circ (K : nat) : R := INR (2 * K + 1).
Lemma circ_ge K : INR K + 1 <= circ K.
Proof. unfold circ. rewrite plus_INR, mult_INR. simpl. assert (P := pos_INR K). lra. Qed.
Lemma circ_pos K : 0 < circ K.
Proof. assert (A := circ_ge K). assert (P := pos_INR K). lra. Qed.
Lemma circ_inv : is_lim_seq (fun K => / circ K) 0.
Proof. apply (is_lim_seq_le_le (fun _ => 0) _ (fun K => / (INR K + 1))).
  - intros K. assert (A := circ_ge K). assert (P := pos_INR K). split; [left; apply Rinv_0_lt_compat; lra|apply Rinv_le_contravar; lra].
  - apply is_lim_seq_const.
  - assert (X := is_lim_seq_INR). apply is_lim_seq_incr_1 in X. apply is_lim_seq_inv in X; [|easy].
    eapply is_lim_seq_ext; [|exact X]. intros n. cbv beta. now rewrite <- S_INR. Qed.
Lemma over_circ p : is_lim_seq (fun K => p / circ K) 0.
Proof. replace 0 with (p * 0) by ring. apply (is_lim_seq_scal_l _ p 0 circ_inv). Qed.
Lemma lim_cont (f : R -> R) (u : nat -> R) (l : R) : continuity_pt f l -> is_lim_seq u l -> is_lim_seq (fun K => f (u K)) (f l).
Proof. intros C H. now apply (is_lim_seq_continuous f u l). Qed.
Lemma root_lim a : 0 < a -> is_lim_seq (fun K => circ K * (1 - exp (- (a / circ K)))) a.
Proof. intros Ha. apply (is_lim_seq_le_le (fun K => a - a * (a / circ K)) _ (fun _ => a)); [|replace (Finite a) with (Finite (a - a * 0)) by (f_equal; ring)|apply is_lim_seq_const].
  - intros K. assert (N := circ_pos K). set (y := a / circ K). assert (Y : 0 < y) by now apply Rdiv_lt_0_compat.
    assert (AE : a = circ K * y) by (unfold y; field; lra). assert (L := exp_ineq1_le (- y)). assert (L2 := exp_ineq1_le y).
    assert (X := exp_pos (- y)). assert (XY : exp (- y) * exp y = 1) by (rewrite <- exp_plus; replace (- y + y) with 0 by ring; apply exp_0).
    assert (U : exp (- y) * (1 + y) <= 1) by (rewrite <- XY; apply Rmult_le_compat_l; lra).
    assert (V : exp (- y) <= 1 - y + y * y) by nra. split.
    + replace (a - a * y) with (circ K * (y - y * y)) by (rewrite AE at 1 2; ring). apply Rmult_le_compat_l; lra.
    + rewrite AE. apply Rmult_le_compat_l; lra.
  - apply is_lim_seq_minus'; [apply is_lim_seq_const|]. apply (is_lim_seq_scal_l _ a 0), over_circ. Qed.
Lemma small_lim p : 0 <= p -> is_lim_seq (fun K => circ K * sin (p / circ K)) p.
Proof. intros Hp. assert (EV : eventually (fun K => p / circ K <= 2)).
  { assert (X := over_circ p). apply is_lim_seq_spec in X. destruct (X (mkposreal 2 Rlt_0_2)) as [n Hn]. exists n. intros K HK. specialize (Hn K HK). simpl in Hn.
    rewrite Rminus_0_r in Hn. apply Rabs_lt_between in Hn. lra. }
  apply (is_lim_seq_le_le_loc (fun K => p - p * (p / circ K) ^ 2 / 6) _ (fun _ => p)); [|replace (Finite p) with (Finite (p - p * 0 ^ 2 / 6)) by (f_equal; field)|apply is_lim_seq_const].
  - destruct EV as [n Hn]. exists n. intros K HK. specialize (Hn K HK). assert (N := circ_pos K). set (y := p / circ K) in *.
    assert (Y : 0 <= y) by (apply Rmult_le_pos; [auto|left; now apply Rinv_0_lt_compat]). assert (PE : p = circ K * y) by (unfold y; field; lra).
    destruct (sin_cubic y ltac:(lra)) as [S1 S2]. split.
    + replace (p - p * y ^ 2 / 6) with (circ K * (y - y ^ 3 / 6)) by (rewrite PE at 1 2; field). apply Rmult_le_compat_l; lra.
    + rewrite PE. apply Rmult_le_compat_l; lra.
  - apply (lim_cont (fun y => p - p * y ^ 2 / 6)); [|apply over_circ]. apply derivable_continuous_pt. reg. Qed.
Section Limit.
Variables (x : R).
Hypothesis Hx : 0 <= x < 1.
Lemma place_ge0 K : 0 <= circ K * x.
Proof. assert (N := circ_pos K). apply Rmult_le_pos; lra. Qed.
Definition at_place (K : nat) : nat := proj1_sig (nfloor_ex (circ K * x) (place_ge0 K)).
Lemma at_place_near K : INR (at_place K) <= circ K * x < INR (at_place K) + 1.
Proof. unfold at_place. exact (proj2_sig (nfloor_ex (circ K * x) (place_ge0 K))). Qed.
Lemma at_place_lt K : (at_place K < 2 * K + 1)%nat.
Proof. apply INR_lt. fold (circ K). destruct (at_place_near K) as [A _]. assert (N := circ_pos K). nra. Qed.
Lemma at_place_lim : is_lim_seq (fun K => INR (at_place K) / circ K) x.
Proof. apply (is_lim_seq_le_le (fun K => x - / circ K) _ (fun _ => x)); [|replace (Finite x) with (Finite (x - 0)) by (f_equal; ring)|apply is_lim_seq_const].
  - intros K. destruct (at_place_near K) as [A B]. assert (N := circ_pos K). split.
    + apply Rmult_le_reg_r with (circ K); auto. unfold Rdiv. rewrite Rmult_minus_distr_r, Rmult_assoc, Rinv_l by lra. lra.
    + apply Rmult_le_reg_r with (circ K); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
  - apply is_lim_seq_minus'; [apply is_lim_seq_const|apply circ_inv]. Qed.
Definition wave (a : R) (m : nat) : R := let p := 2 * PI * INR m in (a * cos (p * x) + p * sin (p * x)) / (a ^ 2 + p ^ 2).
Let r (a : R) (K : nat) := exp (- (a / circ K)).
Lemma r_range a K : 0 < a -> 0 < r a K < 1.
Proof. intros Ha. unfold r. split; [apply exp_pos|]. rewrite <- exp_0. apply exp_increasing. assert (N := circ_pos K). assert (0 < a / circ K) by now apply Rdiv_lt_0_compat. lra. Qed.
Lemma phi_circ K m : phi K m = 2 * PI * INR m / circ K.
Proof. reflexivity. Qed.
Lemma near_half K q m : near K q m = (1 - q) ^ 2 + 4 * q * sin (phi K m / 2) ^ 2.
Proof. unfold near. replace (phi K m) with (2 * (phi K m / 2)) at 1 by field. rewrite cos_2a_sin. ring. Qed.
Lemma place_lim a m : 0 < a -> is_lim_seq (fun K => / circ K * place K (at_place K) (r a K) m) (wave a m).
Proof. intros Ha. set (p := 2 * PI * INR m). assert (PP := PI_RGT_0). assert (P0 : 0 <= p) by (unfold p; assert (X := pos_INR m); nra).
  assert (L1 := root_lim a Ha). assert (L2 := small_lim p P0). assert (L3 := small_lim (p / 2) ltac:(lra)).
  assert (LR : is_lim_seq (r a) 1).
  { unfold r. replace 1 with (exp (- 0)) by (rewrite Ropp_0; apply exp_0). apply (lim_cont (fun y => exp (- y))); [apply derivable_continuous_pt; reg|apply over_circ]. }
  assert (LS : is_lim_seq (fun K => sin (p / 2 / circ K)) 0).
  { rewrite <- sin_0. apply (lim_cont sin); [apply continuity_sin|apply over_circ]. }
  assert (LX : is_lim_seq (fun K => p * (INR (at_place K) / circ K)) (p * x)) by (apply (is_lim_seq_scal_l _ p x), at_place_lim).
  assert (LC := lim_cont cos _ _ (continuity_cos _) LX). assert (LN := lim_cont sin _ _ (continuity_sin _) LX).
  unfold wave. fold p.
  assert (NUM : is_lim_seq (fun K => cos (p * (INR (at_place K) / circ K)) * (circ K * (1 - exp (- (a / circ K))) + r a K * (2 * (circ K * sin (p / 2 / circ K) * sin (p / 2 / circ K))))
      + r a K * (sin (p * (INR (at_place K) / circ K)) * (circ K * sin (p / circ K)))) (cos (p * x) * (a + 1 * (2 * (p / 2 * 0))) + 1 * (sin (p * x) * p))).
  { apply is_lim_seq_plus'; [apply is_lim_seq_mult'; [exact LC|]; apply is_lim_seq_plus'; [exact L1|]; apply is_lim_seq_mult'; [exact LR|];
      apply (is_lim_seq_scal_l _ 2 (p / 2 * 0)), is_lim_seq_mult'; assumption|]. apply is_lim_seq_mult'; [exact LR|]. now apply is_lim_seq_mult'. }
  assert (DEN : is_lim_seq (fun K => (circ K * (1 - exp (- (a / circ K)))) * (circ K * (1 - exp (- (a / circ K)))) + r a K * (4 * ((circ K * sin (p / 2 / circ K)) * (circ K * sin (p / 2 / circ K)))))
      (a * a + 1 * (4 * (p / 2 * (p / 2))))).
  { apply is_lim_seq_plus'; [now apply is_lim_seq_mult'|]. apply is_lim_seq_mult'; [exact LR|]. apply (is_lim_seq_scal_l _ 4 (p / 2 * (p / 2))). now apply is_lim_seq_mult'. }
  replace (cos (p * x) * (a + 1 * (2 * (p / 2 * 0))) + 1 * (sin (p * x) * p)) with (a * cos (p * x) + p * sin (p * x)) in NUM by ring.
  replace (a * a + 1 * (4 * (p / 2 * (p / 2)))) with (a ^ 2 + p ^ 2) in DEN by field.
  assert (D0 : a ^ 2 + p ^ 2 <> 0) by nra. assert (Q := is_lim_seq_div' _ _ _ _ NUM DEN D0). eapply is_lim_seq_ext; [|exact Q].
  intros K. cbv beta. assert (N := circ_pos K). destruct (r_range a K Ha) as [R0 R1]. assert (NP := near_pos K (r a K) (conj R0 R1) m).
  assert (PH : phi K m = p / circ K) by reflexivity. assert (PH2 : phi K m / 2 = p / 2 / circ K) by (rewrite PH; field; lra).
  assert (NH := near_half K (r a K) m). rewrite PH2 in NH. fold (r a K). set (q := r a K) in *. set (s := sin (p / 2 / circ K)) in *. set (n := circ K) in *.
  assert (E : n * (1 - q) * (n * (1 - q)) + q * (4 * (n * s * (n * s))) = n * n * near K q m) by (rewrite NH; ring).
  rewrite E. unfold place.
  replace (INR (at_place K) * phi K m) with (p * (INR (at_place K) / n)) by (rewrite PH; field; lra).
  replace ((INR (at_place K) + 1) * phi K m) with (p * (INR (at_place K) / n) + p / n) by (rewrite PH; field; lra).
  rewrite cos_plus. assert (C2 : cos (p / n) = 1 - 2 * s * s).
  { unfold s, n. replace (p / circ K) with (2 * (p / 2 / circ K)) by (field; apply Rgt_not_eq, circ_pos). apply cos_2a_sin. }
  rewrite C2. field. split; lra. Qed.
Lemma near_least a K m : 0 < a -> (m < K)%nat -> 4 * exp (- a) * (INR m + 1) ^ 2 / circ K ^ 2 <= near K (r a K) (Datatypes.S m).
Proof. intros Ha Hm. rewrite near_half. destruct (r_range a K Ha) as [R0 R1]. assert (N := circ_pos K). assert (P3 : 3 < PI) by (assert (B := PI_ineq 1); cbn in B; unfold tg_alt, PI_tg in B; simpl in B; assert (P2 := PI2_3_2); lra).
  assert (P4 := PI_4). assert (RA : exp (- a) <= r a K).
  { unfold r. apply exp_le. apply Ropp_le_contravar. apply Rmult_le_reg_r with (circ K); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
    assert (G := circ_ge K). assert (P := pos_INR K). nra. }
  set (t := phi K (Datatypes.S m) / 2). assert (TE : t = PI * (INR m + 1) / circ K) by (unfold t; rewrite phi_circ, S_INR; field; lra).
  assert (M0 : 0 <= INR m + 1) by (assert (P := pos_INR m); lra).
  assert (T0 : 0 <= t <= 2).
  { rewrite TE. split; [apply Rmult_le_pos; [apply Rmult_le_pos; lra|left; now apply Rinv_0_lt_compat]|].
    apply Rmult_le_reg_r with (circ K); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. assert (L : INR m + 1 <= INR K) by (rewrite <- S_INR; apply le_INR; lia).
    unfold circ. rewrite plus_INR, mult_INR. simpl. nra. }
  assert (SQ := sin_third t T0). assert (S2 : (t / 3) ^ 2 <= sin t ^ 2) by (apply pow_incr; lra).
  assert (TL : ((INR m + 1) / circ K) ^ 2 <= (t / 3) ^ 2).
  { apply pow_incr. rewrite TE. split; [apply Rmult_le_pos; [lra|left; now apply Rinv_0_lt_compat]|].
    replace (PI * (INR m + 1) / circ K / 3) with (PI / 3 * ((INR m + 1) / circ K)) by (field; lra).
    rewrite <- (Rmult_1_l ((INR m + 1) / circ K)) at 1. apply Rmult_le_compat_r; [apply Rmult_le_pos; [lra|left; now apply Rinv_0_lt_compat]|lra]. }
  replace (4 * exp (- a) * (INR m + 1) ^ 2 / circ K ^ 2) with (4 * exp (- a) * ((INR m + 1) / circ K) ^ 2) by (field; lra).
  assert (Z := pow2_ge_0 ((INR m + 1) / circ K)). assert (X := exp_pos (- a)). assert (Z2 := pow2_ge_0 (1 - r a K)). nra. Qed.
(* the difference of two such terms is small *)
Lemma place_apart K k q q' m : 0 < q < 1 -> 0 < q' < 1 -> forall L, 0 < L -> L <= near K q m -> L <= near K q' m ->
  Rabs (place K k q m - place K k q' m) <= Rabs (q - q') / L.
Proof. intros Hq Hq' L L0 L1 L2. unfold place. set (d := near K q m) in *. set (d' := near K q' m) in *. set (f := phi K m).
  assert (C1 : cos ((INR k + 1) * f) = cos (INR k * f) * cos f - sin (INR k * f) * sin f) by (rewrite <- cos_plus; f_equal; ring).
  set (u := cos (INR k * f)) in *. set (s := sin (INR k * f)) in *. set (c := cos f) in *. set (v := sin f) in *.
  set (R0 := u * (c - (q + q') + q * q' * c) + s * (v - q * q' * v)).
  assert (DE : d = 1 - 2 * q * c + q ^ 2) by reflexivity. assert (DE' : d' = 1 - 2 * q' * c + q' ^ 2) by reflexivity.
  assert (US : u * u + s * s = 1) by (assert (B := sin2_cos2 (INR k * f)); unfold Rsqr in B; fold u s in B; lra).
  assert (CV : c * c + v * v = 1) by (assert (B := sin2_cos2 f); unfold Rsqr in B; fold c v in B; lra).
  assert (E : (u - q * cos ((INR k + 1) * f)) / d - (u - q' * cos ((INR k + 1) * f)) / d' = (q - q') * (R0 / (d * d'))).
  { rewrite C1. unfold R0. rewrite DE, DE' in *. apply Rmult_eq_reg_r with ((1 - 2 * q * c + q ^ 2) * (1 - 2 * q' * c + q' ^ 2)); [|nra].
    field_simplify; [|lra|lra]. assert (VV : v ^ 2 = 1 - c ^ 2) by nra. ring. }
  rewrite E, Rabs_mult. unfold Rdiv at 2. apply Rmult_le_compat_l; [apply Rabs_pos|].
  assert (DD : L * L <= d * d') by (apply Rmult_le_compat; lra). assert (DP : 0 < d * d') by nra.
  assert (SQ : R0 * R0 <= d * d').
  { set (I := s * (c - (q + q') + q * q' * c) - u * (v - q * q' * v)).
    assert (Q : R0 * R0 + I * I = d * d'); [|nra].
    replace (R0 * R0 + I * I) with ((u * u + s * s) * ((c - (q + q') + q * q' * c) ^ 2 + v * v * (1 - q * q') ^ 2)) by (unfold R0, I; ring).
    rewrite US. replace (v * v) with (1 - c * c) by lra. rewrite DE, DE'. ring. }
  unfold Rdiv. rewrite Rabs_mult, (Rabs_pos_eq (/ (d * d'))) by (left; now apply Rinv_0_lt_compat).
  apply Rmult_le_reg_r with (d * d'); auto. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. apply Rmult_le_reg_l with L; auto.
  rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra. apply Rsqr_incr_0_var; [|lra]. unfold Rsqr. assert (AA : Rabs R0 * Rabs R0 = R0 * R0) by (rewrite <- Rabs_mult; apply Rabs_pos_eq; apply Rle_0_sqr).
  replace (L * Rabs R0 * (L * Rabs R0)) with (L * L * (Rabs R0 * Rabs R0)) by ring. rewrite AA. apply Rmult_le_compat; try lra; nra. Qed.
Definition H (a : R) : R := exp (- (a * x)) / (1 - exp (- a)).
Theorem atom_series a b : 0 < a -> 0 < b ->
  is_series (fun m => wave a (Datatypes.S m) - wave b (Datatypes.S m)) ((H a - H b - (/ a - / b)) / 2).
Proof. intros Ha Hb. set (P := fun a K m => place K (at_place K) (r a K) m). set (M := Rmax a b). assert (M1 : a <= M) by apply Rmax_l. assert (M2 : b <= M) by apply Rmax_r.
  apply (tannery (fun K m => / circ K * (P a K (Datatypes.S m) - P b K (Datatypes.S m))) _ (Rabs (a - b) * exp M / 4)).
  - intros m. apply (is_lim_seq_ext (fun K => / circ K * P a K (Datatypes.S m) - / circ K * P b K (Datatypes.S m))); [intros; ring|].
    apply is_lim_seq_minus'; now apply place_lim.
  - intros K m Hm. assert (N := circ_pos K). assert (M0 : 0 < INR m + 1) by (assert (Q := pos_INR m); lra).
    set (L := 4 * exp (- M) * (INR m + 1) ^ 2 / circ K ^ 2). assert (XM := exp_pos (- M)).
    assert (L0 : 0 < L) by (unfold L; apply Rdiv_lt_0_compat; [|now apply pow_lt]; apply Rmult_lt_0_compat; [lra|now apply pow_lt]).
    assert (LE : forall c, 0 < c -> c <= M -> L <= near K (r c K) (Datatypes.S m)).
    { intros c C0 C1. eapply Rle_trans; [|now apply near_least]. unfold L, Rdiv. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; now apply pow_lt|].
      apply Rmult_le_compat_r; [apply pow2_ge_0|]. apply Rmult_le_compat_l; [lra|]. apply exp_le; lra. }
    assert (A := place_apart K (at_place K) (r a K) (r b K) (Datatypes.S m) (r_range a K Ha) (r_range b K Hb) L L0 (LE a Ha M1) (LE b Hb M2)).
    assert (RR : Rabs (r a K - r b K) <= Rabs (a - b) / circ K).
    { unfold r. eapply Rle_trans; [apply exp_near; apply Rmult_le_pos; try lra; left; now apply Rinv_0_lt_compat|].
      replace (a / circ K - b / circ K) with ((a - b) / circ K) by (field; lra). unfold Rdiv. rewrite Rabs_mult, (Rabs_pos_eq (/ circ K)) by (left; now apply Rinv_0_lt_compat). lra. }
    rewrite Rabs_mult, (Rabs_pos_eq (/ circ K)) by (left; now apply Rinv_0_lt_compat). unfold P.
    apply Rle_trans with (/ circ K * (Rabs (a - b) / circ K / L)).
    + apply Rmult_le_compat_l; [left; now apply Rinv_0_lt_compat|]. eapply Rle_trans; [exact A|]. unfold Rdiv. apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|]. exact RR.
    + right. unfold L. rewrite exp_Ropp. assert (XP := exp_pos M). field. repeat split; lra.
  - apply (is_lim_seq_ext (fun K => / 2 * (exp (- (a * (INR (at_place K) / circ K))) / (1 - exp (- a)) - exp (- (b * (INR (at_place K) / circ K))) / (1 - exp (- b))
      - (/ (circ K * (1 - exp (- (a / circ K)))) - / (circ K * (1 - exp (- (b / circ K)))))))).
    + intros K. assert (N := circ_pos K). rewrite add_scal. set (fa := fun m => P a K (Datatypes.S m)). set (fb := fun m => P b K (Datatypes.S m)).
      rewrite (add_ext _ (fun m => fa m + -1 * fb m)) by (intros; unfold fa, fb; ring). rewrite add_plus, add_scal.
      assert (G : forall c, 0 < c -> 2 * (/ circ K * add (fun m => P c K (Datatypes.S m)) K) = exp (- (c * (INR (at_place K) / circ K))) / (1 - exp (- c)) - / (circ K * (1 - exp (- (c / circ K))))).
      { intros c C0. destruct (r_range c K C0) as [R0 R1]. assert (CI := circle K (at_place K) (r c K) (conj R0 R1) (at_place_lt K)).
        assert (PW : forall n, r c K ^ n = exp (- (c * (INR n / circ K)))).
        { intros n. unfold r. induction n as [|n IH]; [simpl; unfold Rdiv; rewrite Rmult_0_l, Rmult_0_r, Ropp_0; symmetry; apply exp_0|].
          change (exp (- (c / circ K)) ^ Datatypes.S n) with (exp (- (c / circ K)) * exp (- (c / circ K)) ^ n). rewrite IH, <- exp_plus. f_equal. rewrite S_INR. field; lra. }
        assert (PN : r c K ^ (2 * K + 1) = exp (- c)) by (rewrite PW; fold (circ K); do 2 f_equal; field; lra).
        rewrite PN, PW in CI. fold (circ K) in CI. fold (P c K O) in CI.
        assert (P0 : P c K O = / (1 - r c K)).
        { unfold P, place, near. rewrite phi_circ. replace (2 * PI * INR 0 / circ K) with 0 by (simpl; unfold Rdiv; ring). rewrite !Rmult_0_r, cos_0. field. nra. }
        rewrite P0 in CI. unfold P in *. assert (EC : exp (- c) < 1) by (rewrite <- exp_0; apply exp_increasing; lra).
        set (A := add _ K) in *. apply Rmult_eq_reg_l with (circ K); [|lra].
        replace (circ K * (2 * (/ circ K * A))) with (2 * A) by (field; lra).
        replace (2 * A) with (circ K * exp (- (c * (INR (at_place K) / circ K))) / (1 - exp (- c)) - / (1 - r c K)) by lra.
        unfold r in *. field. repeat split; lra. }
      assert (GA := G a Ha). assert (GB := G b Hb). fold fa in GA. fold fb in GB. lra.
    + replace ((H a - H b - (/ a - / b)) / 2) with (/ 2 * (H a - H b - (/ a - / b))) by (unfold Rdiv; ring). apply (is_lim_seq_scal_l _ (/ 2) (H a - H b - (/ a - / b))).
      assert (HL : forall c, is_lim_seq (fun K => exp (- (c * (INR (at_place K) / circ K))) / (1 - exp (- c))) (H c)).
      { intros c. apply (lim_cont (fun y => exp (- (c * y)) / (1 - exp (- c)))); [|apply at_place_lim]. unfold Rdiv. apply derivable_continuous_pt. reg. }
      assert (IL : forall c, 0 < c -> is_lim_seq (fun K => / (circ K * (1 - exp (- (c / circ K))))) (/ c)).
      { intros c C0. assert (X := root_lim c C0). apply is_lim_seq_inv in X; [exact X|]. intros Q. injection Q. lra. }
      apply is_lim_seq_minus'; apply is_lim_seq_minus'; try apply HL; now apply IL. Qed.
End Limit.
