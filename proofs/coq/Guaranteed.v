(* 13c. A step of which nothing is known but a guarantee, also on a random batch, and a program that puts an integer law
   above it.

   An (eps, delta)-private step has at most the divergences of randomised response with a leak: `worst eps delta a` is
   that curve (of RandomizedResponse.v, as a function of a = e^eps), and worst_bounds says so of outputs of any kind.
   `guaranteed` is the curve where the step runs on a random batch, for a record removed or added.  `covers_guarantee`
   decides that the law of an integer law is above it: at a grid point a it is at most the largest of
     delta,  delta + (1-delta) (1-a),  delta + (1-delta) (e^eps - a) / (e^eps + 1).
   The same for Laplace noise, whose curve is the largest of 0, 1 - a and 1 - sqrt (a e^-r) (lap), and for finitely many
   outputs of stated probabilities, where it is a sum (apart).  by_outputs bounds one point of one step's curve from below. *)
Require Import Reals ZArith List Lra Lia Bool.
From VerifiedDP Require Import Law HockeyStick RandomizedResponse Kronecker Exponential Checker Link Integral Normal Enclosures SampledGaussian Discrete.
Import ListNotations.
Open Scope R_scope.

Definition worst (e d a : R) : R := S (fun x => pos (mP e d x - a * mQ e d x)) outcomes.
Section Worst.
Variables (e d : R).
Hypothesis He : 0 <= e.
Hypothesis Hd : 0 <= d <= 1.
Let t := truth e.
Lemma pos_ge x : x <= pos x.
Proof. apply Rmax_r. Qed.
Lemma half_true : 1 / 2 <= t < 1.
Proof. assert (T := truth_range e). fold t in T. split; [|lra]. unfold t, truth. assert (1 <= exp e) by (rewrite <- exp_0; now apply exp_le).
  apply Rmult_le_reg_r with (1 + exp e); [lra|]. unfold Rdiv at 2. rewrite Rmult_assoc, Rinv_l; lra. Qed.
Lemma odds_true : t = exp e * (1 - t).
Proof. unfold t, truth. assert (X := exp_pos e). field; lra. Qed.
Lemma worst_sum a : worst e d a = pos ((1 - d) * t - a * ((1 - d) * (1 - t))) + pos ((1 - d) * (1 - t) - a * ((1 - d) * t))
  + pos d + pos (- (a * d)).
Proof. unfold worst, outcomes. cbn [S mP mQ]. fold t. rewrite Rmult_0_r, Rminus_0_r, (Rminus_0_l (a * d)). ring. Qed.
Lemma worst_least a : d <= worst e d a /\ 1 - a <= worst e d a /\ d + (1 - d) * (1 - a) <= worst e d a
  /\ d + (1 - d) * (t - a * (1 - t)) <= worst e d a.
Proof. rewrite worst_sum. set (x := (1 - d) * t - a * ((1 - d) * (1 - t))). set (y := (1 - d) * (1 - t) - a * ((1 - d) * t)).
  assert (X0 := pos_ge0 x). assert (X1 := pos_ge x). assert (Y0 := pos_ge0 y). assert (Y1 := pos_ge y). assert (D1 := pos_ge d).
  assert (Z0 := pos_ge0 (- (a * d))). assert (Z1 := pos_ge (- (a * d))). unfold x, y in *. repeat split; lra. Qed.
Lemma worst_most a z : 0 <= a -> d <= z -> d + (1 - d) * (1 - a) <= z -> d + (1 - d) * (t - a * (1 - t)) <= z -> worst e d a <= z.
Proof. intros Ha H1 H2 H3. rewrite worst_sum. assert (T := half_true).
  assert (AD : 0 <= a * d) by (apply Rmult_le_pos; lra). rewrite (pos_of_neg (- (a * d))), (pos_of_pos d) by lra.
  set (x := (1 - d) * t - a * ((1 - d) * (1 - t))) in *. set (y := (1 - d) * (1 - t) - a * ((1 - d) * t)) in *.
  assert (XY : y <= x). { assert (0 <= (1 - d) * ((2 * t - 1) * (1 + a))) by (apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra]). unfold x, y. lra. }
  assert (SX : x + y = (1 - d) * (1 - a)) by (unfold x, y; ring). assert (EX : x = (1 - d) * (t - a * (1 - t))) by (unfold x; ring).
  destruct (Rle_dec 0 x), (Rle_dec 0 y); rewrite ?(pos_of_pos x), ?(pos_of_pos y), ?(pos_of_neg x), ?(pos_of_neg y) by lra; lra. Qed.
Lemma worst_left a : a <= 0 -> worst e d a <= 1 - a.
Proof. intros Ha. rewrite worst_sum. assert (T := half_true). assert (A1 : 0 <= - a * ((1 - d) * (1 - t))) by (apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra]).
  assert (A2 : 0 <= - a * ((1 - d) * t)) by (apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra]). assert (A3 : 0 <= - a * d) by (apply Rmult_le_pos; lra).
  assert (A4 : 0 <= (1 - d) * t) by (apply Rmult_le_pos; lra). assert (A5 : 0 <= (1 - d) * (1 - t)) by (apply Rmult_le_pos; lra).
  rewrite !pos_of_pos by lra. lra. Qed.
Lemma worst_end a : exp e <= a -> worst e d a <= d.
Proof. intros Ha. assert (T := half_true). assert (O := odds_true). assert (E1 : 1 <= exp e) by (rewrite <- exp_0; now apply exp_le).
  assert (exp e * (1 - t) <= a * (1 - t)) by (apply Rmult_le_compat_r; lra).
  apply worst_most; try lra; assert (0 <= (1 - d) * (a - 1)) by (apply Rmult_le_pos; lra);
    assert (0 <= (1 - d) * (a * (1 - t) - t)) by (apply Rmult_le_pos; lra); lra. Qed.
Lemma worst_ge0 a : 0 <= worst e d a.
Proof. assert (W := worst_least a). lra. Qed.
Lemma worst_swapped a : S (fun x => pos (mQ e d x - a * mP e d x)) outcomes = worst e d a.
Proof. unfold worst, outcomes. cbn [S mP mQ]. ring. Qed.

(* Every step that is (e, d)-private in both directions is bounded by it, whatever its outputs are. *)
Theorem worst_bounds {T} (A : integral T) (P Q : T -> R) : (forall x, 0 <= P x) -> (forall x, 0 <= Q x) -> is_int A P 1 -> is_int A Q 1 ->
  upto A (fun x => pos (P x - exp e * Q x)) d -> upto A (fun x => pos (Q x - exp e * P x)) d ->
  forall a, upto A (fun x => pos (P x - a * Q x)) (worst e d a).
Proof. intros P0 Q0 P1 Q1 H1 H2 a. destruct (worst_least a) as [W1 [W2 [W3 W4]]]. set (E := exp e) in *. assert (EP : 0 < E) by apply exp_pos.
  assert (E1 : 1 <= E) by (unfold E; rewrite <- exp_0; now apply exp_le). assert (I0 : 0 < / E) by now apply Rinv_0_lt_compat.
  assert (EI : E * / E = 1) by (apply Rinv_r; lra).
  assert (LOW : forall b, 0 <= b -> b * E <= 1 -> upto A (fun x => pos (P x - b * Q x)) (1 - b + b * d)).
  { intros b B0 B1. apply (upto_le A _ (fun x => (P x - b * Q x) + b * pos (Q x - E * P x)) (1 - b * 1 + b * d)); [|lra|].
    - intros x. assert (X := P0 x). assert (Y := Q0 x). assert (Z := pos_ge (Q x - E * P x)). assert (Z0 := pos_ge0 (Q x - E * P x)).
      assert (b * (Q x - E * P x) <= b * pos (Q x - E * P x)) by (now apply Rmult_le_compat_l).
      assert (0 <= b * pos (Q x - E * P x)) by (now apply Rmult_le_pos). assert (b * E * P x <= 1 * P x) by (now apply Rmult_le_compat_r).
      apply Rmax_lub; lra.
    - apply upto_plus; [|now apply upto_scal]. apply upto_int. apply int_minus; auto. now apply int_scal. }
  destruct (Rle_lt_dec E a) as [G|G].
  { apply (upto_le A _ (fun x => pos (P x - E * Q x)) d); auto. intros x. apply pos_le.
    assert (E * Q x <= a * Q x) by (apply Rmult_le_compat_r; auto). lra. }
  destruct (Rle_lt_dec (/ E) a) as [L|L].
  - set (k := / (E - / E)). assert (KD : 0 < E - / E) by lra. assert (K : 0 < k) by now apply Rinv_0_lt_compat.
    assert (KE : k * (E - / E) = 1) by (apply Rinv_l; lra). set (l := k * (a - / E)). set (r := k * (E - a)).
    assert (L0 : 0 <= l) by (apply Rmult_le_pos; lra). assert (R0 : 0 <= r) by (apply Rmult_le_pos; lra).
    assert (LR : l + r = 1) by (unfold l, r; rewrite <- KE; ring).
    assert (LA : l * E + r * / E = a) by (unfold l, r; transitivity (a * (k * (E - / E))); [ring|rewrite KE; ring]).
    apply (upto_le A _ (fun x => l * pos (P x - E * Q x) + r * pos (P x - / E * Q x)) (l * d + r * (1 - / E + / E * d))).
    + intros x. rewrite !pos_scal by auto. eapply Rle_trans; [|apply pos_add]. apply pos_le. right.
      rewrite <- LA, <- (Rmult_1_l (P x)) at 1. rewrite <- LR. ring.
    + eapply Rle_trans; [|exact W4]. right. assert (TT : t = E / (1 + E)) by reflexivity. rewrite TT.
      replace (l * d + r * (1 - / E + / E * d)) with ((l + r) * d + (1 - d) * (r * (1 - / E))) by ring. rewrite LR, Rmult_1_l. f_equal. f_equal.
      unfold r, k. field. repeat split; try lra; nra.
    + apply upto_plus; apply upto_scal; auto. apply LOW; lra.
  - destruct (Rle_lt_dec 0 a) as [Z|Z].
    + apply (upto_le A _ (fun x => pos (P x - a * Q x)) (1 - a + a * d)); [intros; apply Rle_refl|lra|]. apply LOW; auto.
      apply Rmult_lt_compat_r with (r := E) in L; [|auto]. rewrite Rinv_l in L by lra. lra.
    + apply (upto_le A _ (fun x => P x - a * Q x) (1 - a * 1)); [|lra|].
      * intros x. assert (X := P0 x). assert (Y := Q0 x). assert (0 <= - a * Q x) by (apply Rmult_le_pos; lra). rewrite pos_of_pos; lra.
      * apply upto_int, int_minus; auto. now apply int_scal. Qed.
End Worst.

(* ---------- Laplace noise ---------- *)
(* the divergence of two Laplace laws r scales apart (Mixed.v) *)
Definition lap (r a : R) : R := Rmax (Rmax 0 (1 - a)) (1 - sqrt (a * exp (- r))).
Lemma lap_ge r a : 0 <= lap r a /\ 1 - a <= lap r a /\ 1 - sqrt (a * exp (- r)) <= lap r a.
Proof. unfold lap. assert (A := Rmax_l (Rmax 0 (1 - a)) (1 - sqrt (a * exp (- r)))). assert (B := Rmax_l 0 (1 - a)). assert (C := Rmax_r 0 (1 - a)).
  assert (D := Rmax_r (Rmax 0 (1 - a)) (1 - sqrt (a * exp (- r)))). lra. Qed.
Lemma lap_most r a z : 0 <= z -> 1 - a <= z -> 1 <= z \/ (1 - z) * (1 - z) <= a * exp (- r) -> lap r a <= z.
Proof. intros H0 H1 H2. unfold lap. repeat apply Rmax_lub; auto. assert (P := sqrt_pos (a * exp (- r))).
  destruct (Rle_lt_dec 1 z) as [G|G]; [lra|]. destruct H2 as [H2|H2]; [lra|]. apply sqrt_le_1_alt in H2. rewrite sqrt_square in H2; lra. Qed.
Lemma lap_end r a : 0 <= r -> exp r <= a -> lap r a <= 0.
Proof. intros Hr H. assert (E1 : 1 <= exp r) by (rewrite <- exp_0; now apply exp_le). assert (X := exp_pos (- r)). apply lap_most; try lra. right.
  assert (K : exp r * exp (- r) <= a * exp (- r)) by (apply Rmult_le_compat_r; lra). rewrite <- exp_plus, Rplus_opp_r, exp_0 in K. lra. Qed.
(* Every point of the curve is on a falling line that is nowhere above it. *)
Definition lined (C : R -> R) := forall x, exists K L, 0 <= K /\ 0 <= L /\ C x = K - L * x /\ forall y, K - L * y <= C y.
Lemma lined_is_curve C : C 0 <= 1 -> lined C -> is_curve C.
Proof. intros C0 H. split; [auto|split].
  - intros a b Hab. destruct (H b) as [K [L [K0 [L0 [E D]]]]]. specialize (D a). assert (L * a <= L * b) by (apply Rmult_le_compat_l; lra). lra.
  - intros a b x Hab Hx. destruct (H x) as [K [L [K0 [L0 [E D]]]]]. assert (A := D a). assert (B := D b). rewrite E.
    assert ((b - x) * (K - L * a) <= (b - x) * C a) by (apply Rmult_le_compat_l; lra).
    assert ((x - a) * (K - L * b) <= (x - a) * C b) by (apply Rmult_le_compat_l; lra). lra. Qed.
Lemma lined_remove q C : 0 < q <= 1 -> lined C -> lined (remove_curve q C).
Proof. intros Hq H x. destruct (H ((x - 1 + q) / q)) as [K [L [K0 [L0 [E D]]]]]. exists (q * K + L * (1 - q)), L.
  assert (LQ : 0 <= L * (1 - q)) by (apply Rmult_le_pos; lra). assert (QK : 0 <= q * K) by (apply Rmult_le_pos; lra).
  repeat split; auto; [lra|unfold remove_curve; rewrite E; field; lra|]. intros y. specialize (D ((y - 1 + q) / q)). unfold remove_curve.
  apply (Rmult_le_compat_l q) in D; [|lra]. replace (q * (K - L * ((y - 1 + q) / q))) with (q * K + L * (1 - q) - L * y) in D by (field; lra). exact D. Qed.
Lemma lined_add q C : 0 < q <= 1 -> (forall x, 0 <= C x) -> lined C -> lined (add_curve q C).
Proof. intros Hq C0 H x. assert (P : forall y, 0 <= add_curve q C y) by (intros y; unfold add_curve; destruct (Rlt_dec _ _); [apply Rmult_le_pos; [lra|auto]|lra]).
  unfold add_curve at 1. destruct (Rlt_dec 0 (1 - x * (1 - q))) as [G|G].
  2:{ exists 0, 0. repeat split; try lra. intros y. specialize (P y). lra. }
  destruct (H (x * q / (1 - x * (1 - q)))) as [K [L [K0 [L0 [E D]]]]]. exists K, (K * (1 - q) + L * q).
  assert (KQ : 0 <= K * (1 - q)) by (apply Rmult_le_pos; lra). assert (LQ : 0 <= L * q) by (apply Rmult_le_pos; lra).
  repeat split; auto; [lra|rewrite E; field; lra|]. intros y. specialize (D (y * q / (1 - y * (1 - q)))). unfold add_curve.
  destruct (Rlt_dec 0 (1 - y * (1 - q))) as [F|F].
  - apply (Rmult_le_compat_l (1 - y * (1 - q))) in D; [|lra].
    replace ((1 - y * (1 - q)) * (K - L * (y * q / (1 - y * (1 - q))))) with (K - (K * (1 - q) + L * q) * y) in D by (field; lra). exact D.
  - assert (Y : 0 <= y) by (destruct (Rle_lt_dec 0 y); [auto|exfalso; apply F; assert (0 <= - y * (1 - q)) by (apply Rmult_le_pos; lra); lra]).
    assert (0 <= y * (L * q)) by now apply Rmult_le_pos. assert (K * (1 - y * (1 - q)) <= 0) by nra. lra. Qed.
Lemma lap_lined r : 0 <= r -> lined (lap r).
Proof. intros Hr x. set (p := exp (- r)). assert (P0 : 0 < p) by apply exp_pos. assert (P1 : p <= 1) by (unfold p; rewrite <- exp_0; apply exp_le; lra).
  assert (PE : exp r * p = 1) by (unfold p; rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
  destruct (Rle_lt_dec x p) as [G|G].
  - exists 1, 1. repeat split; try lra.
    + apply Rle_antisym; [|assert (K := lap_ge r x); lra]. unfold lap. fold p. repeat apply Rmax_lub; try lra.
      destruct (Rle_lt_dec x 0) as [Z|Z]; [rewrite sqrt_neg_0 by nra; lra|].
      assert (S : sqrt (x * x) <= sqrt (x * p)) by (apply sqrt_le_1_alt; apply Rmult_le_compat_l; lra). rewrite sqrt_square in S; lra.
    + intros y. assert (K := lap_ge r y). lra.
  - destruct (Rle_lt_dec (exp r) x) as [F|F].
    + exists 0, 0. repeat split; try lra.
      * assert (K := lap_ge r x). assert (L := lap_end r x Hr F). lra.
      * intros y. assert (K := lap_ge r y). lra.
    + assert (XP : 0 < x * p) by (apply Rmult_lt_0_compat; lra). set (s := sqrt (x * p)). assert (S0 : 0 < s) by now apply sqrt_lt_R0.
      assert (SS : s * s = x * p) by (apply sqrt_sqrt; lra). assert (X1 : x * p <= 1) by (rewrite <- PE; apply Rmult_le_compat_r; lra).
      assert (S1 : s <= 1) by (rewrite <- sqrt_1; now apply sqrt_le_1_alt).
      assert (SP : p <= s) by (rewrite <- (sqrt_square p) by lra; apply sqrt_le_1_alt; apply Rmult_le_compat_r; lra).
      assert (SX : s <= x) by (rewrite <- (sqrt_square x) by lra; apply sqrt_le_1_alt; apply Rmult_le_compat_l; lra).
      assert (IS := Rinv_0_lt_compat _ S0). assert (IV : s * / s = 1) by (apply Rinv_r; lra).
      exists (1 - s / 2), (p / (2 * s)). repeat split; [lra|left; apply Rdiv_lt_0_compat; lra| |].
      * replace (1 - s / 2 - p / (2 * s) * x) with (1 - s).
        { apply Rle_antisym; [|assert (K := lap_ge r x); fold p in K; fold s in K; lra]. unfold lap. fold p. fold s. repeat apply Rmax_lub; lra. }
        replace (p / (2 * s) * x) with (x * p / (2 * s)) by (field; lra). rewrite <- SS. field. lra.
      * intros y. destruct (lap_ge r y) as [_ [L1 L2]]. fold p in L2. destruct (Rle_lt_dec 0 y) as [Y|Y].
        { eapply Rle_trans; [|exact L2]. assert (YP : 0 <= y * p) by (apply Rmult_le_pos; lra). assert (T := sqrt_sqrt _ YP). set (w := sqrt (y * p)) in *.
          apply Rmult_le_reg_l with (2 * s); [lra|]. replace (2 * s * (1 - s / 2 - p / (2 * s) * y)) with (2 * s - s * s - y * p) by (field; lra).
          rewrite <- T. assert (Q := Rle_0_sqr (s - w)). unfold Rsqr in Q. lra. }
        { eapply Rle_trans; [|exact L1]. apply Rmult_le_reg_l with (2 * s); [lra|].
          replace (2 * s * (1 - s / 2 - p / (2 * s) * y)) with (2 * s - s * s - y * p) by (field; lra).
          assert (0 <= - y * (2 * s - p)) by (apply Rmult_le_pos; lra). nra. } Qed.

(* ---------- the curve of what is stated ---------- *)
(* Outputs 0, 1, ...: their probabilities with the record are as ps, without it as qs. *)
Definition share (l : list Z) (i : nat) : R := IZR (nth i l 0%Z) / IZR (sumv l).
Definition apart (ps qs : list Z) (a : R) : R := S (fun i => pos (share ps i - a * share qs i)) (seq 0 (length ps)).
Definition shares (l : list Z) : Prop := nnv l /\ (0 < sumv l)%Z.
Lemma share_ge0 l i : shares l -> 0 <= share l i.
Proof. intros [N P]. apply Rmult_le_pos; [|left; now apply Rinv_0_lt_compat, IZR_lt]. apply IZR_le.
  destruct (nth_in_or_default i l 0%Z) as [H| ->]; [|lia]. unfold nnv in N. rewrite Forall_forall in N. now apply N. Qed.
Lemma S_nth (f : Z -> Z -> R) ps : forall qs, length ps = length qs ->
  S (fun i => f (nth i ps 0%Z) (nth i qs 0%Z)) (seq 0 (length ps)) = S (fun x => f (fst x) (snd x)) (combine ps qs).
Proof. induction ps as [|p ps IH]; intros [|q qs] L; try discriminate; auto. cbn [length seq combine S fst snd nth]. f_equal.
  rewrite <- seq_shift, S_map. rewrite <- IH by auto. reflexivity. Qed.
Lemma share_sum l : shares l -> S (share l) (seq 0 (length l)) = 1.
Proof. intros [N P]. unfold share. rewrite (S_nth (fun p _ => IZR p / IZR (sumv l)) l l eq_refl). apply IZR_lt in P.
  assert (K : forall c m, S (fun x : Z * Z => IZR (fst x) / c) (combine m m) = IZR (sumv m) / c).
  { intros c m. induction m as [|x m IH]; cbn [combine S sumv fst]; [unfold Rdiv; ring|rewrite IH, plus_IZR; unfold Rdiv; ring]. }
  rewrite K. field. lra. Qed.
(* any (e, d)-private step, Laplace noise on a number that changes by at most e scales, finitely many outputs, or discrete
   noise of weights e^(-e |k|) or e^(-e k^2) on a whole number that changes by at most D; reach and tests are hints *)
Inductive source := Any | Laplace_noise | Outputs (ps qs : list Z) | Whole (square : bool) (D reach : Z) (ts : list Z).
Definition sound_source (s : source) (e : R) : Prop :=
  match s with Outputs ps qs => shares ps /\ shares qs /\ length ps = length qs | Whole _ D _ _ => 0 < e /\ (0 <= D)%Z | _ => True end.
Definition base (s : source) (o : order) (e d : R) : R -> R :=
  match s, o with
  | Any, _ => worst e d | Laplace_noise, _ => lap e | Outputs ps qs, Remove => apart ps qs | Outputs ps qs, Add => apart qs ps
  | Whole sq D _ _, _ => discrete_curve sq e D
  end.
Lemma apart_ge0 ps qs a : 0 <= apart ps qs a.
Proof. unfold apart. induction (seq 0 (length ps)) as [|i l IH]; simpl; [lra|]. assert (K := pos_ge0 (share ps i - a * share qs i)). lra. Qed.
Lemma base_ge0 s o e d a : sound_source s e -> 0 <= d <= 1 -> 0 <= base s o e d a.
Proof. intros S. destruct s; [intros; now apply worst_ge0|intros; apply lap_ge|destruct o; intros; apply apart_ge0|destruct S; intros; now apply curve_ge0]. Qed.
(* where losses are bounded: by how many times e *)
Definition ends (s : source) : option Z := match s with Outputs _ _ | Whole true _ _ _ => None | Whole false D _ _ => Some D | _ => Some 1%Z end.
Lemma base_end s o e d a k : ends s = Some k -> sound_source s e -> 0 <= e -> 0 <= d <= 1 -> exp (e * IZR k) <= a -> base s o e d a <= d.
Proof. intros N S He Hd H. destruct s as [| |ps qs|[] D n ts]; try discriminate; injection N as <-; cbn [base]; rewrite ?Rmult_1_r in H; [now apply worst_end| |];
    (apply Rle_trans with 0; [|lra]); [now apply lap_end|destruct S; now apply discrete_end]. Qed.
Definition guaranteed (s : source) (o : order) (q e d : R) : R -> R :=
  match o with Remove => remove_curve q (base s o e d) | Add => add_curve q (base s o e d) end.
Lemma guaranteed_one s o e d x : guaranteed s o 1 e d (exp x) = base s o e d (exp x).
Proof. destruct o; cbn [guaranteed].
  - unfold remove_curve. rewrite Rmult_1_l. f_equal. field.
  - unfold add_curve. replace (1 - exp x * (1 - 1)) with 1 by ring. destruct (Rlt_dec 0 1); [|lra]. rewrite Rmult_1_l. f_equal. field. Qed.
Lemma mixed_is_curve {T} (A : integral T) P Q c o q : (forall x, 0 <= P x) -> (forall x, 0 <= Q x) -> is_int A P 1 -> is_int A Q 1 -> 0 < q <= 1 ->
  (forall a, is_int A (fun x => pos (P x - a * Q x)) (c Remove a)) -> (forall a, is_int A (fun x => pos (Q x - a * P x)) (c Add a)) ->
  is_curve (match o with Remove => remove_curve q (c Remove) | Add => add_curve q (c Add) end).
Proof. intros P0 Q0 P1 Q1 Hq R S. assert (MX : forall x, 0 <= mix q P Q x).
  { intros x. unfold mix. specialize (P0 x). specialize (Q0 x). apply Rplus_le_le_0_compat; apply Rmult_le_pos; lra. }
  assert (M1 : is_int A (mix q P Q) 1).
  { replace 1 with ((1 - q) * 1 + q * 1) by ring. apply (int_plus A (fun x => (1 - q) * Q x) (fun x => q * P x)); now apply int_scal. }
  destruct o; [apply (pair_is_curve A (mix q P Q) Q)|apply (pair_is_curve A Q (mix q P Q))]; auto; intros a Ha; [now apply remove_int|now apply add_int]. Qed.
Lemma guaranteed_is_curve s o q e d : sound_source s e -> 0 < q <= 1 -> 0 <= e -> 0 <= d <= 1 -> is_curve (guaranteed s o q e d).
Proof. intros Hs Hq He Hd. assert (M := fun T A P Q P0 Q0 P1 Q1 => @mixed_is_curve T A P Q (fun o => base s o e d) o q P0 Q0 P1 Q1 Hq).
  enough (K : is_curve (match o with Remove => remove_curve q (base s Remove e d) | Add => add_curve q (base s Add e d) end)) by (destruct o; exact K).
  destruct s as [| |ps qs|sq D n ts].
  - apply (M _ (sums outcomes) (mP e d) (mQ e d)); auto using mP_ge0, mQ_ge0; [| |intros a; reflexivity|intros a; apply worst_swapped];
    unfold outcomes; cbn [is_int sums S mP mQ]; ring.
  - assert (L := lap_lined e He). assert (P := fun x => proj1 (lap_ge e x)). destruct o; cbn [guaranteed base].
    + apply lined_is_curve; [|now apply lined_remove]. unfold remove_curve. set (x := (0 - 1 + q) / q).
      assert (XE : q * x = q - 1) by (unfold x; field; lra). assert (X0 : x <= 0) by (apply Rmult_le_reg_l with q; lra).
      assert (lap e x <= 1 - x) by (apply lap_most; lra). assert (q * lap e x <= q * (1 - x)) by (apply Rmult_le_compat_l; lra). lra.
    + apply lined_is_curve; [|now apply lined_add]. unfold add_curve. replace (1 - 0 * (1 - q)) with 1 by ring. destruct (Rlt_dec 0 1); [|lra].
      assert (lap e (0 * q / 1) <= 1); [|lra]. apply lap_most; [lra|unfold Rdiv; lra|left; lra].
  - destruct Hs as [SP [SQ L]]. set (l := seq 0 (length ps)). assert (Q1 := share_sum qs SQ). rewrite <- L in Q1.
    apply (M _ (sums l) (share ps) (share qs)); auto; try (intros; now apply share_ge0); [now apply share_sum|intros; reflexivity|].
    intros a. cbn. unfold l, apart. now rewrite L.
  - destruct Hs as [R D0]. apply (M _ counts (discrete sq e 0) (discrete sq e D)); intros; try (now apply noise_ge0); try (now apply noise_int).
    + now apply curve_int.
    + now apply curve_swapped. Qed.

(* ---------- the program ---------- *)
Open Scope Z_scope.
Record guaranteed_step := {
  g_source : source; g_order : order; g_q_num : Z; g_q_den : Z; g_eps_num : Z; g_eps_den : Z; g_delta_num : Z; g_delta_den : Z;
  g_precision : Z; g_terms : Z }.
Definition at_most_apart (n m z : Z) (ps qs : list Z) : bool :=
  excess n m (sumv ps) (sumv qs) ps qs <=? z * (sumv ps * sumv qs).
Definition sound_shares (l : list Z) : bool := forallb (Z.leb 0) l && (0 <? sumv l).
Section Covers.
Variable g : guaranteed_step.
Let W := g_precision g.
Let U := unit W.
Let dn := g_delta_num g.
Let dd := g_delta_den g.
Definition window_for : window :=
  match g_source g with Whole sq D reach _ => window_of W sq (g_eps_num g) (g_eps_den g) (g_terms g) D (Z.to_nat reach)
  | _ => {| tops := []; bottoms_moved := []; bottoms := []; tops_moved := []; outside := 0; outside_moved := 0; least_total := 0; most_total := 0 |} end.
(* whether m times the curve at n / m is at most z, if e^eps is at most a / 2^W *)
Definition at_most (a : Z) (c : window) (n m z : Z) : bool :=
  match g_source g with
  | Whole _ _ _ _ => if n <? 0 then m - n <=? z else (0 <? least_total c) && (excess_window c n m <=? z * least_total c)
  | Outputs ps qs => match g_order g with Remove => at_most_apart n m z ps qs | Add => at_most_apart n m z qs ps end
  | Laplace_noise => (0 <=? z) && (m - n <=? z) && ((m <=? z) || ((m - z) * (m - z) * a <=? n * m * U))
  | Any => (dn * m <=? dd * z) &&
  (if n <? 0 then m - n <=? z
   else (dn * m + (dd - dn) * (m - n) <=? dd * z) && ((dd - dn) * (a * m - n * U) <=? (dd * z - dn * m) * (U + a)))
  end.
Definition dot_guaranteed (odds : Z) (c : window) (h_num h_den i a d : Z) : bool :=
  let rest := g_q_den g - g_q_num g in
  if (rest =? 0) && match ends (g_source g) with Some k => g_eps_num g * k * h_den <=? h_num * i * g_eps_den g | None => false end then dn * U <=? dd * d
  else match g_order g with
  | Remove => at_most odds c (a * g_q_den g - rest * U) (g_q_num g * U) (d * g_q_den g)
  | Add => let m := U * g_q_den g - a * rest in
      if m <=? 0 then 0 <=? d else at_most odds c (a * g_q_num g) m (d * g_q_den g)
  end.
Definition sound_guarantee : bool := (0 <=? W) && (0 <? g_q_num g) && (g_q_num g <=? g_q_den g) && (0 <=? g_eps_num g) && (0 <? g_eps_den g)
  && (0 <=? dn) && (dn <=? dd) && (0 <? dd) && (0 <=? g_terms g)
  && match g_source g with Outputs ps qs => sound_shares ps && sound_shares qs && Nat.eqb (length ps) (length qs) | Whole _ D reach _ => (0 <? g_eps_num g) && (0 <=? D) && (D <=? reach) | _ => true end.
Definition covers_guarantee (h_num h_den B : Z) (v : ilaw) : bool :=
  sound_guarantee && (0 <? h_den) && let odds := snd (expo W (g_terms g) (quotient_range W (g_eps_num g) (g_eps_den g))) in let c := window_for in
  covers_grid (fun i a _ d => dot_guaranteed odds c h_num h_den i a d) W (g_terms g) (mass v) h_num h_den B v.
End Covers.

(* ---------- what it decides ---------- *)
Open Scope R_scope.
Lemma shares_ok l : sound_shares l = true -> shares l.
Proof. intros T. apply andb_prop in T as [T1 T2]. apply Z.ltb_lt in T2. split; auto. rewrite forallb_forall in T1. apply Forall_forall.
  intros x Hx. apply Z.leb_le; auto. Qed.
Lemma apart_excess ps qs n m : shares ps -> shares qs -> length ps = length qs -> (0 < m)%Z ->
  IZR m * apart ps qs (IZR n / IZR m) * (IZR (sumv ps) * IZR (sumv qs)) = IZR (excess n m (sumv ps) (sumv qs) ps qs).
Proof. intros [_ P] [_ Q] L M. rewrite excess_ok by auto. unfold apart, share. apply IZR_lt in M.
  rewrite (S_nth (fun p q => pos (IZR p / IZR (sumv ps) - IZR n / IZR m * (IZR q / IZR (sumv qs)))) ps qs L), <- S_scal.
  rewrite (Rmult_comm (S _ _)). f_equal. apply S_ext. intros x. rewrite pos_scal by lra. f_equal. field. apply IZR_lt in P, Q. lra. Qed.
Lemma at_most_apart_ok ps qs n m z : shares ps -> shares qs -> length ps = length qs -> (0 < m)%Z -> at_most_apart n m z ps qs = true ->
  IZR m * apart ps qs (IZR n / IZR m) <= IZR z.
Proof. intros P Q L M T. apply Z.leb_le, IZR_le in T. rewrite <- apart_excess, !mult_IZR in T by auto. destruct P as [_ P], Q as [_ Q]. apply IZR_lt in P, Q.
  apply (Rmult_le_reg_r (IZR (sumv ps) * IZR (sumv qs))); [now apply Rmult_lt_0_compat|exact T]. Qed.
Definition g_q (g : guaranteed_step) : R := IZR (g_q_num g) / IZR (g_q_den g).
Definition g_eps (g : guaranteed_step) : R := IZR (g_eps_num g) / IZR (g_eps_den g).
Definition g_delta (g : guaranteed_step) : R := IZR (g_delta_num g) / IZR (g_delta_den g).
Section Right.
Variable g : guaranteed_step.
Let W := g_precision g.
Let U := unit W.
Let s := IZR U.
Let q := g_q g.
Let e := g_eps g.
Let d := g_delta g.
Hypothesis sound : sound_guarantee g = true.
Lemma sound_guarantee_ok : ((0 <= W)%Z /\ (0 < g_q_num g <= g_q_den g)%Z /\ (0 <= g_eps_num g)%Z /\ (0 < g_eps_den g)%Z
  /\ (0 <= g_delta_num g <= g_delta_den g)%Z /\ (0 < g_delta_den g)%Z /\ (0 <= g_terms g)%Z) /\ 0 < q <= 1 /\ 0 <= e /\ 0 <= d <= 1
  /\ sound_source (g_source g) e.
Proof. unfold sound_guarantee in sound. revert sound. intros T. apply andb_prop in T as [T SO]. repeat (apply andb_prop in T as [T ?]).
  repeat match goal with X : (_ <? _)%Z = true |- _ => apply Z.ltb_lt in X | X : (_ <=? _)%Z = true |- _ => apply Z.leb_le in X end.
  assert (FR : forall n m, (0 <= n <= m)%Z -> (0 < m)%Z -> 0 <= IZR n / IZR m <= 1).
  { intros n m [N0 N1] M. apply IZR_le in N0, N1. apply IZR_lt in M. split; [apply Rmult_le_pos; [auto|left; now apply Rinv_0_lt_compat]|].
    apply Rmult_le_reg_r with (IZR m); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
  split; [repeat split; auto|]. split; [|split; [|split]].
  - split; [apply Rdiv_lt_0_compat; apply IZR_lt; lia|]. apply FR; lia.
  - apply Rmult_le_pos; [now apply IZR_le|left; apply Rinv_0_lt_compat; now apply IZR_lt].
  - apply FR; auto.
  - destruct (g_source g) as [| |ps qs|sq D n ts]; cbn [sound_source]; auto; apply andb_prop in SO as [SO L]; apply andb_prop in SO as [SP SQ].
    + apply Nat.eqb_eq in L. auto using shares_ok.
    + apply Z.ltb_lt in SP. apply Z.leb_le in SQ. split; auto. apply Rdiv_lt_0_compat; now apply IZR_lt. Qed.
Lemma reach_ok sq D n ts : g_source g = Whole sq D n ts -> (0 < g_eps_num g)%Z /\ (0 <= D <= n)%Z.
Proof. intros GS. unfold sound_guarantee in sound. rewrite GS in sound. apply andb_prop in sound as [_ SO]. apply andb_prop in SO as [SO L]. apply andb_prop in SO as [SP SQ].
  apply Z.ltb_lt in SP. apply Z.leb_le in SQ, L. auto. Qed.
Lemma at_most_ok a n m z : s * exp e <= IZR a -> (0 < m)%Z -> at_most g a (window_for g) n m z = true -> IZR m * base (g_source g) (g_order g) e d (IZR n / IZR m) <= IZR z.
Proof. destruct sound_guarantee_ok as [[HW [_ [_ [_ [[D0 D1] [D2 _]]]]]] [_ [He [Hd HS]]]]. assert (SR := unit_gt0 W HW). fold U in SR. fold s in SR.
  intros Ha Hm T. unfold at_most, window_for in T. fold W U in T. destruct (g_source g) as [| |ps qs|sq D N ts] eqn:GS; cbn [base].
  4:{ destruct (reach_ok _ _ _ _ GS) as [E0 DN]. destruct sound_guarantee_ok as [[_ [_ [_ [E1 [_ [_ Ht]]]]]] _]. destruct HS as [R _]. assert (MR := IZR_lt _ _ Hm).
    destruct (Z.ltb_spec n 0) as [G|G].
    - apply Z.leb_le, IZR_le in T. rewrite minus_IZR in T. apply IZR_lt in G. rewrite curve_left; auto; [replace (IZR m * (1 - IZR n / IZR m)) with (IZR m - IZR n) by (field; lra); auto|].
      unfold Rdiv. assert (V := Rinv_0_lt_compat _ MR). assert (0 <= - IZR n * / IZR m) by (apply Rmult_le_pos; lra). lra.
    - apply andb_prop in T as [T1 T2]. apply Z.ltb_lt, IZR_lt in T1. apply Z.leb_le, IZR_le in T2. rewrite mult_IZR in T2. set (c := window_of _ _ _ _ _ _ _) in *.
      assert (K := excess_window_ok W sq (g_eps_num g) (g_eps_den g) (g_terms g) D (Z.to_nat N) HW E0 E1 Ht ltac:(lia) n m G Hm). fold c in K.
      apply Rmult_le_reg_r with (IZR (least_total c)); auto. eapply Rle_trans; [exact K|exact T2]. }
  3:{ destruct HS as [SP [SQ L]]. destruct (g_order g); now apply at_most_apart_ok. }
  2:{ apply andb_prop in T as [T T3]. apply andb_prop in T as [T1 T2]. apply Z.leb_le, IZR_le in T1, T2. rewrite minus_IZR in T2.
    assert (MR := IZR_lt _ _ Hm). set (x := IZR n / IZR m). set (y := IZR z / IZR m).
    assert (XE : IZR n = x * IZR m) by (unfold x; field; lra). assert (YE : IZR z = y * IZR m) by (unfold y; field; lra).
    rewrite XE, YE in T2. rewrite YE in T1 |- *. rewrite Rmult_comm. apply Rmult_le_compat_r; [lra|].
    apply lap_most; [apply Rmult_le_reg_r with (IZR m); lra|apply Rmult_le_reg_r with (IZR m); lra|].
    apply orb_prop in T3 as [T3|T3]; apply Z.leb_le, IZR_le in T3.
    - left. rewrite YE in T3. apply Rmult_le_reg_r with (IZR m); lra.
    - right. rewrite !mult_IZR, minus_IZR, XE, YE in T3. fold s in T3. set (A := IZR a) in *. assert (EP := exp_pos e).
      assert (AP : 0 < A) by (assert (0 < s * exp e) by (now apply Rmult_lt_0_compat); lra).
      assert (K : (1 - y) * (1 - y) * A <= x * s).
      { apply Rmult_le_reg_r with (IZR m * IZR m); [now apply Rmult_lt_0_compat|].
        eapply Rle_trans; [|eapply Rle_trans; [exact T3|]]; right; ring. }
      assert (SQ := Rle_0_sqr (1 - y)). unfold Rsqr in SQ. 
      assert (XS : 0 <= x * s).
      { eapply Rle_trans; [|exact K].
        apply Rmult_le_pos; [exact SQ|]. apply Rlt_le. exact AP. }
      assert (X0 : 0 <= x).
      { apply Rmult_le_reg_r with s; [exact SR|]. rewrite Rmult_0_l. exact XS. }
      apply Rmult_le_reg_r with A; auto. eapply Rle_trans; [exact K|].
      assert (SA : s <= exp (- e) * A).
      { rewrite <- (Rmult_1_l s). rewrite <- (exp_0). replace 0 with (- e + e) by ring. rewrite exp_plus, Rmult_assoc. apply Rmult_le_compat_l; [left; apply exp_pos|lra]. }
      rewrite Rmult_assoc. now apply Rmult_le_compat_l. }
  apply andb_prop in T as [T1 T2]. apply Z.leb_le, IZR_le in T1. rewrite !mult_IZR in T1.
  assert (MR := IZR_lt _ _ Hm). assert (DR := IZR_lt _ _ D2). set (x := IZR n / IZR m). set (y := IZR z / IZR m).
  assert (DE : IZR (g_delta_num g) = d * IZR (g_delta_den g)) by (unfold d, g_delta; field; lra).
  assert (XE : IZR n = x * IZR m) by (unfold x; field; lra). assert (YE : IZR z = y * IZR m) by (unfold y; field; lra).
  rewrite DE, YE in T1. apply Rmult_le_reg_r with (/ IZR m); [now apply Rinv_0_lt_compat|]. fold (IZR z / IZR m). fold y.
  replace (IZR m * worst e d x * / IZR m) with (worst e d x) by (field; lra).
  assert (DM : 0 < IZR (g_delta_den g) * IZR m) by now apply Rmult_lt_0_compat.
  assert (C1 : d <= y) by (apply Rmult_le_reg_l with (IZR (g_delta_den g) * IZR m); lra).
  destruct (Z.ltb_spec n 0) as [G|G].
  - apply Z.leb_le, IZR_le in T2. rewrite minus_IZR, XE, YE in T2. apply IZR_lt in G.
    assert (x <= 0) by (apply Rmult_le_reg_r with (IZR m); lra). eapply Rle_trans; [now apply worst_left|].
    apply Rmult_le_reg_r with (IZR m); lra.
  - apply andb_prop in T2 as [T2 T3]. apply Z.leb_le, IZR_le in T2, T3. apply IZR_le in G.
    assert (X0 : 0 <= x) by (apply Rmult_le_reg_r with (IZR m); lra).
    rewrite plus_IZR, !mult_IZR, !minus_IZR, DE, XE, YE in T2. rewrite !mult_IZR, !minus_IZR, plus_IZR, !mult_IZR, DE, XE, YE in T3. fold s in T3.
    set (A := IZR a) in *. assert (EP := exp_pos e). assert (AP : 0 < A) by (assert (0 < s * exp e) by (now apply Rmult_lt_0_compat); lra).
    apply worst_most; auto.
    + apply Rmult_le_reg_l with (IZR (g_delta_den g) * IZR m); auto. lra.
    + set (t := truth e). assert (O : t = exp e * (1 - t)) by apply odds_true. assert (T0 := truth_range e). fold t in T0.
      assert (SA : s * t <= A * (1 - t)).
      { rewrite O at 1. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; lra. }
      assert (K : (1 - d) * (A - x * s) <= (y - d) * (s + A)).
      { apply Rmult_le_reg_l with (IZR (g_delta_den g) * IZR m); auto. lra. }
      assert (M : (t - x * (1 - t)) * (s + A) <= A - x * s).
      { assert (0 <= (1 + x) * (A * (1 - t) - s * t)) by (apply Rmult_le_pos; lra). lra. }
      assert ((1 - d) * ((t - x * (1 - t)) * (s + A)) <= (1 - d) * (A - x * s)) by (apply Rmult_le_compat_l; lra).
      apply Rmult_le_reg_r with (s + A); [lra|]. lra. Qed.
Theorem covers_guarantee_ok h_num h_den B v : (covers_guarantee g h_num h_den B v = true)%Z ->
  let L := law_of (IZR h_num / IZR h_den) (IZR (2 ^ B)) v in
  nonneg L /\ 1 <= tot L /\ forall x, guaranteed (g_source g) (g_order g) q e d (exp x) <= delta x L.
Proof. destruct sound_guarantee_ok as [[HW [[Q0 Q1] [E0 [E1 [_ [D2 Ht]]]]]] [Hq [He [Hd HS]]]]. assert (SR := unit_gt0 W HW). fold U in SR. fold s in SR.
  intros T. unfold covers_guarantee in T. apply andb_prop in T as [T SC]. apply andb_prop in T as [_ HD]. apply Z.ltb_lt in HD. fold W in SC.
  assert (IC := guaranteed_is_curve (g_source g) (g_order g) q e d HS Hq He Hd).
  refine (covers_grid_ok W HW _ _ (g_terms g) (mass v) h_num h_den B v IC _ SC). clear SC.
  destruct (expo_ok W HW (g_terms g) (quotient_range W (g_eps_num g) (g_eps_den g)) e Ht (quotient_range_ok W HW _ _ E0 E1)) as [[_ [_ A1]] _].
  rewrite (unit_pow W) in A1. fold U s in A1. set (odds := snd _) in *. set (h := IZR h_num / IZR h_den). intros i a _ z A0 AE D.
  assert (QN := IZR_lt _ _ Q0). assert (QD : 0 < IZR (g_q_den g)) by (apply IZR_lt; lia). assert (HR := IZR_lt _ _ HD).
  assert (QE : IZR (g_q_num g) = q * IZR (g_q_den g)) by (unfold q, g_q; field; lra).
  fold U. fold s. set (al := IZR a / s). assert (AA : IZR a = s * al) by (unfold al; field; lra). apply IZR_le in A0.
  assert (AL : 0 <= al <= exp (h * IZR i)).
  { split; [apply Rmult_le_pos; [auto|left; now apply Rinv_0_lt_compat]|]. apply Rmult_le_reg_l with s; auto. fold U in AE. fold s in AE. rewrite <- AA. exact AE. }
  unfold dot_guaranteed in D. cbv zeta in D. fold W U in D. set (rest := (g_q_den g - g_q_num g)%Z) in *.
  destruct ((rest =? 0) && _)%Z eqn:EX.
  - apply andb_prop in EX as [X1 X2]. destruct (ends (g_source g)) as [k|] eqn:X0; [|discriminate]. apply Z.eqb_eq in X1. apply Z.leb_le, IZR_le in X2. rewrite !mult_IZR in X2. apply Z.leb_le, IZR_le in D. rewrite !mult_IZR in D.
    assert (q = 1) by (unfold q, g_q; replace (g_q_num g) with (g_q_den g) by lia; field; lra).
    assert (HI : e * IZR k <= h * IZR i).
    { assert (ER := IZR_lt _ _ E1). apply Rmult_le_reg_r with (IZR (g_eps_den g) * IZR h_den); [now apply Rmult_lt_0_compat|].
      unfold e, g_eps, h. replace (IZR (g_eps_num g) / IZR (g_eps_den g) * IZR k * (IZR (g_eps_den g) * IZR h_den)) with (IZR (g_eps_num g) * IZR k * IZR h_den) by (field; lra).
      replace (IZR h_num / IZR h_den * IZR i * (IZR (g_eps_den g) * IZR h_den)) with (IZR h_num * IZR i * IZR (g_eps_den g)) by (field; lra). auto. }
    assert (DR := IZR_lt _ _ D2). assert (WD : d <= IZR z / s).
    { fold s in D. unfold d, g_delta. apply Rmult_le_reg_r with (IZR (g_delta_den g) * s); [now apply Rmult_lt_0_compat|].
      replace (IZR (g_delta_num g) / IZR (g_delta_den g) * (IZR (g_delta_den g) * s)) with (IZR (g_delta_num g) * s) by (field; lra).
      replace (IZR z / s * (IZR (g_delta_den g) * s)) with (IZR (g_delta_den g) * IZR z) by (field; lra). exact D. }
    eapply Rle_trans; [|exact WD]. rewrite H, guaranteed_one. apply (base_end _ _ _ _ _ k); auto. now apply exp_le.
  - eapply Rle_trans; [apply IC; exact AL|]. assert (RE : IZR rest = (1 - q) * IZR (g_q_den g)) by (unfold rest; rewrite minus_IZR, QE; ring).
    destruct (g_order g) eqn:GO; cbn [guaranteed].
    + set (n := (a * g_q_den g - rest * U)%Z) in *. assert (M0 : (0 < g_q_num g * U)%Z) by (apply Z.mul_pos_pos; [auto|apply unit_pos; auto]).
      assert (K := at_most_ok odds n (g_q_num g * U) (z * g_q_den g) A1 M0 D). rewrite GO, !mult_IZR in K. fold s in K.
      assert (NE : IZR n / (IZR (g_q_num g) * s) = (al - 1 + q) / q).
      { unfold n. rewrite minus_IZR, !mult_IZR, RE, QE, AA. fold s. field. lra. }
      rewrite NE, QE in K. unfold remove_curve. apply Rmult_le_reg_l with (s * IZR (g_q_den g)); [now apply Rmult_lt_0_compat|].
      replace (s * IZR (g_q_den g) * (IZR z / s)) with (IZR z * IZR (g_q_den g)) by (field; lra). lra.
    + set (m := (U * g_q_den g - a * rest)%Z) in *. assert (ME : IZR m = s * IZR (g_q_den g) * (1 - al * (1 - q))).
      { unfold m. rewrite minus_IZR, !mult_IZR, RE, AA. fold s. ring. }
      assert (SQ : 0 < s * IZR (g_q_den g)) by now apply Rmult_lt_0_compat. unfold add_curve. destruct (Z.leb_spec m 0) as [G|G].
      * apply IZR_le in G. rewrite ME in G. apply Z.leb_le, IZR_le in D. destruct (Rlt_dec 0 (1 - al * (1 - q))) as [P|P].
        { exfalso. assert (0 < s * IZR (g_q_den g) * (1 - al * (1 - q))) by now apply Rmult_lt_0_compat. lra. }
        apply Rmult_le_pos; [auto|left; now apply Rinv_0_lt_compat].
      * assert (K := at_most_ok odds (a * g_q_num g) m (z * g_q_den g) A1 G D). apply IZR_lt in G.
        destruct (Rlt_dec 0 (1 - al * (1 - q))) as [P|P]; [|exfalso; rewrite ME in G; nra].
        rewrite GO, !mult_IZR in K. replace (IZR a * IZR (g_q_num g) / IZR m) with (al * q / (1 - al * (1 - q))) in K
          by (rewrite ME, AA, QE; field; split; lra).
        rewrite ME in K. apply Rmult_le_reg_l with (s * IZR (g_q_den g)); auto.
        replace (s * IZR (g_q_den g) * (IZR z / s)) with (IZR z * IZR (g_q_den g)) by (field; lra). lra. Qed.
End Right.

(* ---------- one step from below: one point of its curve ---------- *)
(* of finitely many outputs; of an (e, d)-private step as the worst one has it *)
(* the curve at A / U, in units of 1 / (U q_den (sum of ps) (sum of qs)) *)
Definition point (g : guaranteed_step) (ps qs : list Z) (A : Z) : Z :=
  let U := unit (g_precision g) in let rest := (g_q_den g - g_q_num g)%Z in
  match g_order g with
  | Remove => excess (A * g_q_den g - rest * U) (g_q_num g * U) (sumv ps) (sumv qs) ps qs
  | Add => let m := (U * g_q_den g - A * rest)%Z in if (m <=? 0)%Z then 0%Z else excess (A * g_q_num g) m (sumv qs) (sumv ps) qs ps
  end.
Definition by_outputs (g : guaranteed_step) (b : problem) : bool :=
  match g_source g with
  | Outputs ps qs =>
      let W := g_precision g in let E := expo W (g_terms g) (quotient_range W (eps_num b) (eps_den b)) in
      let N := (unit W * g_q_den g * (sumv ps * sumv qs))%Z in
      sound_guarantee g && (0 <=? eps_num b)%Z && (0 <? eps_den b)%Z && (0 <? bits b)%Z &&
      match direction b with Above => false | Below => (bound b * N <=? point g ps qs (snd E) * 2 ^ bits b)%Z end
  | Any =>
      let W := g_precision g in let E := expo W (g_terms g) (quotient_range W (eps_num b) (eps_den b)) in
      let odds := fst (expo W (g_terms g) (quotient_range W (g_eps_num g) (g_eps_den g))) in let N := (unit W + odds)%Z in
      sound_guarantee g && (0 <=? eps_num b)%Z && (0 <? eps_den b)%Z && (0 <? bits b)%Z && (g_q_num g =? g_q_den g)%Z &&
      match direction b with
      | Above => false
      | Below => (bound b * (N * g_delta_den g) <=? (g_delta_num g * N + (g_delta_den g - g_delta_num g) * (odds - snd E)) * 2 ^ bits b)%Z
      end
  | _ => false
  end.
Section Point.
Variables (g : guaranteed_step) (ps qs : list Z).
Hypothesis sound : sound_guarantee g = true.
Hypothesis outputs : g_source g = Outputs ps qs.
Let s := IZR (unit (g_precision g)).
Lemma point_ok A : (0 <= A)%Z -> guaranteed (g_source g) (g_order g) (g_q g) (g_eps g) (g_delta g) (IZR A / s) * IZR (unit (g_precision g) * g_q_den g * (sumv ps * sumv qs))
  = IZR (point g ps qs A).
Proof. destruct (sound_guarantee_ok g sound) as [[HW [[Q0 Q1] _]] [Hq [_ [_ HS]]]]. rewrite outputs in *. destruct HS as [SP [SQ L]]. intros HA.
  assert (SR : 0 < s) by exact (unit_gt0 _ HW). assert (UP := unit_pos _ HW). set (U := unit (g_precision g)) in *. fold s in SR.
  assert (QN := IZR_lt _ _ Q0). assert (QD : 0 < IZR (g_q_den g)) by (apply IZR_lt; lia).
  assert (QE : IZR (g_q_num g) = g_q g * IZR (g_q_den g)) by (unfold g_q; field; lra).
  assert (RE : IZR (g_q_den g - g_q_num g) = (1 - g_q g) * IZR (g_q_den g)) by (rewrite minus_IZR, QE; ring).
  unfold point. fold U. cbv zeta. set (rest := (g_q_den g - g_q_num g)%Z) in *. set (al := IZR A / s). assert (AE : IZR A = s * al) by (unfold al; field; lra).
  rewrite !mult_IZR. fold s. destruct (g_order g); cbn [guaranteed base].
  - assert (M0 : (0 < g_q_num g * U)%Z) by (apply Z.mul_pos_pos; auto).
    rewrite <- apart_excess by auto. replace (IZR (A * g_q_den g - rest * U) / IZR (g_q_num g * U)) with ((al - 1 + g_q g) / g_q g)
      by (rewrite minus_IZR, !mult_IZR, RE, QE, AE; fold s; field; lra).
    unfold remove_curve. rewrite mult_IZR, QE. fold s. ring.
  - set (m := (U * g_q_den g - A * rest)%Z). assert (ME : IZR m = s * IZR (g_q_den g) * (1 - al * (1 - g_q g))).
    { unfold m. rewrite minus_IZR, !mult_IZR, RE, AE. fold s. ring. }
    assert (SQ0 : 0 < s * IZR (g_q_den g)) by now apply Rmult_lt_0_compat. unfold add_curve. destruct (Z.leb_spec m 0) as [G|G].
    + apply IZR_le in G. rewrite ME in G. destruct (Rlt_dec 0 (1 - al * (1 - g_q g))) as [P|P]; [|ring].
      exfalso. assert (0 < s * IZR (g_q_den g) * (1 - al * (1 - g_q g))) by now apply Rmult_lt_0_compat. lra.
    + assert (GR := IZR_lt _ _ G). destruct (Rlt_dec 0 (1 - al * (1 - g_q g))) as [P|P]; [|exfalso; rewrite ME in GR; nra].
      rewrite <- apart_excess by auto. replace (IZR (A * g_q_num g) / IZR m) with (al * g_q g / (1 - al * (1 - g_q g)))
        by (rewrite ME, mult_IZR, AE, QE; field; split; lra).
      rewrite ME. ring. Qed.
End Point.
Theorem by_outputs_ok g b ps qs : by_outputs g b = true -> g_source g = Outputs ps qs -> sound_source (g_source g) (g_eps g) /\ 0 < g_q g <= 1 /\
  IZR (bound b) / unit_of b <= guaranteed (g_source g) (g_order g) (g_q g) (g_eps g) (g_delta g) (exp (epsilon_of b)).
Proof. unfold by_outputs. intros T GS. rewrite GS in *. cbv zeta in T.
  apply andb_prop in T as [T SC]. do 3 (apply andb_prop in T as [T ?]).
  repeat match goal with X : (_ <? _)%Z = true |- _ => apply Z.ltb_lt in X | X : (_ <=? _)%Z = true |- _ => apply Z.leb_le in X end.
  destruct (sound_guarantee_ok g T) as [[HW [[Q0 Q1] [_ [_ [_ [_ Ht]]]]]] [Hq [He [Hd HS]]]].
  rewrite GS in HS. split; [auto|]. split; [auto|]. assert (IC := guaranteed_is_curve _ (g_order g) _ _ _ HS Hq He Hd). destruct HS as [[_ SP] [[_ SQ] _]].
  assert (SR := unit_gt0 _ HW). set (W := g_precision g) in *. set (s := IZR (unit W)) in *.
  destruct (expo_ok W HW (g_terms g) (quotient_range W (eps_num b) (eps_den b)) (epsilon_of b) Ht
    (quotient_range_ok W HW (eps_num b) (eps_den b) ltac:(auto) ltac:(auto))) as [[E0 [E1 E2]] E3].
  set (E := expo _ _ _) in *. assert (US : IZR (2 ^ W) = s) by exact (unit_pow _). rewrite US in E1, E2. assert (X := exp_pos (epsilon_of b)).
  assert (SN : (0 <= snd E)%Z) by (apply le_IZR; nra).
  set (N := (unit W * g_q_den g * (sumv ps * sumv qs))%Z) in *.
  assert (NP : 0 < IZR N) by (apply IZR_lt; unfold N; repeat apply Z.mul_pos_pos; auto; try lia; now apply unit_pos).
  assert (BP : 0 < IZR (2 ^ bits b)) by (apply IZR_lt, Z.pow_pos_nonneg; lia).
  assert (K := fun A HA => point_ok g ps qs T GS A HA). fold W in K. fold N s in K. rewrite GS in K. unfold unit_of.
  destruct (direction b); [discriminate|]. apply Z.leb_le, IZR_le in SC. rewrite !mult_IZR, <- K in SC by auto.
  eapply Rle_trans; [|apply IC; split; [left; exact X|apply (Rmult_le_reg_l s); [auto|]; replace (s * (IZR (snd E) / s)) with (IZR (snd E)) by (field; lra); exact E2]].
  apply (Rmult_le_reg_r (IZR N)); auto. apply (Rmult_le_reg_r (IZR (2 ^ bits b))); auto. eapply Rle_trans; [|exact SC]. right. field. lra. Qed.
Theorem by_worst_ok g b : by_outputs g b = true -> g_source g = Any -> g_q g = 1 /\ 0 <= g_eps g /\ 0 <= g_delta g <= 1 /\ direction b = Below /\
  IZR (bound b) / unit_of b <= worst (g_eps g) (g_delta g) (exp (epsilon_of b)).
Proof. unfold by_outputs. intros T GS. rewrite GS in *. cbv zeta in T. apply andb_prop in T as [T SC]. do 4 (apply andb_prop in T as [T ?]).
  repeat match goal with X : (_ <? _)%Z = true |- _ => apply Z.ltb_lt in X | X : (_ <=? _)%Z = true |- _ => apply Z.leb_le in X
    | X : (_ =? _)%Z = true |- _ => apply Z.eqb_eq in X end.
  destruct (sound_guarantee_ok g T) as [[HW [[Q0 Q1] [G0 [G1 [[D0 D1] [D2 Ht]]]]]] [Hq [He [Hd _]]]]. destruct (direction b); [discriminate|].
  assert (QE : g_q g = 1) by (unfold g_q; replace (g_q_num g) with (g_q_den g) by auto; field; apply not_0_IZR; lia).
  split; [auto|split; [auto|split; [auto|split; [auto|]]]]. assert (SR := unit_gt0 _ HW). set (W := g_precision g) in *. set (s := IZR (unit W)) in *.
  assert (US : IZR (2 ^ W) = s) by exact (unit_pow _).
  destruct (expo_ok W HW (g_terms g) (quotient_range W (eps_num b) (eps_den b)) (epsilon_of b) Ht
    (quotient_range_ok W HW (eps_num b) (eps_den b) ltac:(auto) ltac:(auto))) as [[_ [_ E2]] _].
  destruct (expo_ok W HW (g_terms g) (quotient_range W (g_eps_num g) (g_eps_den g)) (g_eps g) Ht
    (quotient_range_ok W HW (g_eps_num g) (g_eps_den g) ltac:(auto) ltac:(auto))) as [[F0 [F1 _]] _].
  rewrite US in E2, F1. set (A := snd _) in *. set (o := fst _) in *. apply Z.leb_le, IZR_le in SC. apply IZR_le in F0. assert (DR := IZR_lt _ _ D2).
  assert (BP : 0 < IZR (2 ^ bits b)) by (apply IZR_lt, Z.pow_pos_nonneg; lia).
  assert (DE : IZR (g_delta_num g) = g_delta g * IZR (g_delta_den g)) by (unfold g_delta; field; lra).
  rewrite !mult_IZR, !plus_IZR, !mult_IZR, !minus_IZR, plus_IZR, DE in SC. fold s in SC.
  set (d := g_delta g) in *. set (e := g_eps g) in *. set (a := exp (epsilon_of b)) in *. set (X := exp e) in *. assert (XP : 0 < X) by apply exp_pos.
  assert (AP : 0 < a) by apply exp_pos.
  eapply Rle_trans; [|apply (worst_least e d a)]. set (t := truth e). assert (TE : t - a * (1 - t) = (X - a) / (1 + X)) by (unfold t, truth; fold X; field; lra).
  rewrite TE. unfold unit_of.
  assert (K : (IZR o - IZR A) / (s + IZR o) <= (X - a) / (1 + X)).
  { assert (N0 : 0 < (s + IZR o) * (1 + X)) by (apply Rmult_lt_0_compat; lra). apply (Rmult_le_reg_r _ _ _ N0).
    replace ((IZR o - IZR A) / (s + IZR o) * ((s + IZR o) * (1 + X))) with ((IZR o - IZR A) * (1 + X)) by (field; lra).
    replace ((X - a) / (1 + X) * ((s + IZR o) * (1 + X))) with ((X - a) * (s + IZR o)) by (field; lra).
    assert ((IZR o - IZR A) * (1 + X) <= (IZR o - s * a) * (1 + X)) by (apply Rmult_le_compat_r; lra).
    assert (IZR o * (1 + a) <= s * X * (1 + a)) by (apply Rmult_le_compat_r; lra). lra. }
  apply (Rmult_le_compat_l (1 - d)) in K; [|lra]. eapply Rle_trans; [|apply Rplus_le_compat_l, K].
  assert (N1 : 0 < (s + IZR o) * IZR (g_delta_den g) * IZR (2 ^ bits b)) by (repeat apply Rmult_lt_0_compat; lra). apply (Rmult_le_reg_r _ _ _ N1).
  replace (IZR (bound b) / IZR (2 ^ bits b) * ((s + IZR o) * IZR (g_delta_den g) * IZR (2 ^ bits b))) with (IZR (bound b) * ((s + IZR o) * IZR (g_delta_den g))) by (field; lra).
  eapply Rle_trans; [exact SC|]. right. field. lra. Qed.
