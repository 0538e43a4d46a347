(* 14. Single events: a divergence from below, and at one point.

   An event {x > t} (a record added: {x <= t}) of the output of one step shows a lower bound of its divergence,
     gain t a = P(event) - a Q(event) <= curve a                                                          (gain_int)
   whatever t is.  `dot_below` encloses it between integers.  `by_event` decides one point of the curve of a Gaussian step
   on either side, with no grid: above by the test of SampledGaussian.v, below by the event. *)
Require Import Reals ZArith List Lra Lia Bool.
From VerifiedDP Require Import Law Kronecker Exponential Checker Link Integral Normal Enclosures SampledGaussian.
Import ListNotations.
Open Scope R_scope.

Definition event (o : way) (t x : R) := match o with Add => 1 - beyond t x | _ => beyond t x end.
Definition gain (o : way) (q m t a : R) := match o with
  | Remove => q * upper (t - m) - (a - 1 + q) * upper t
  | Add => (1 - a * (1 - q)) * upper (- t) - a * q * upper (m - t)
  | Replaced => replaced_gain q m t a end.
Lemma event_range o t x : 0 <= event o t x <= 1.
Proof. unfold event, beyond. destruct o as [[]|], (Rlt_dec t x); lra. Qed.
Theorem gain_int o q m t a : is_line (fun x => event o t x * (pair_P o q m x - a * pair_Q o q m x)) (gain o q m t a).
Proof. destruct o as [[]|]; [| |exact (replaced_gain_int q m t a)]; cbn [event gain pair_P pair_Q]; unfold mix, shifted.
  - replace (q * upper (t - m) - (a - 1 + q) * upper t) with (q * upper (t - m) + - (a - 1 + q) * upper (t - 0)) by (rewrite Rminus_0_r; ring).
    apply (line_ext (fun x => q * (beyond t x * std (x - m)) + - (a - 1 + q) * (beyond t x * std (x - 0))));
      [intros; rewrite Rminus_0_r; ring|]. apply line_plus; apply line_scal, upper_line.
  - replace ((1 - a * (1 - q)) * upper (- t) - a * q * upper (m - t)) with ((1 - a * (1 - q)) * upper (0 - t) + - (a * q) * upper (m - t)) by (rewrite Rminus_0_l; ring).
    apply (line_ext (fun x => (1 - a * (1 - q)) * ((1 - beyond t x) * std (x - 0)) + - (a * q) * ((1 - beyond t x) * std (x - m))));
      [intros; rewrite Rminus_0_r; ring|]. apply line_plus; apply line_scal, lower_line. Qed.
Lemma gain_linear o q m t a b : gain o q m t b = gain o q m t a - (b - a) * (gain o q m t 0 - gain o q m t 1).
Proof. destruct o as [[]|]; cbn [gain]; unfold replaced_gain; ring. Qed.
Lemma gain_falls o q m t a b : 0 < q <= 1 -> a <= b -> gain o q m t b <= gain o q m t a.
Proof. intros Hq H. refine (line_le _ _ _ _ _ (gain_int o q m t b) (gain_int o q m t a)). intros x. cbv beta.
  apply Rmult_le_compat_l; [apply event_range|].
  assert (Q : 0 <= pair_Q o q m x).
  { destruct o as [[]|]; cbn [pair_Q]; [apply std_ge0|now apply mix_ge0|now apply mix_ge0]. }
  assert (a * pair_Q o q m x <= b * pair_Q o q m x) by now apply Rmult_le_compat_r. lra. Qed.

Lemma gain_most o q m t (Hq : 0 < q <= 1) x : event o t x * (pair_P o q m x - 0 * pair_Q o q m x) <= pair_P o q m x.
Proof. assert (X := event_range o t x). assert (Y := proj1 (pair_ge0 q m Hq o x)). nra. Qed.

(* ---------- the program ---------- *)
Open Scope Z_scope.
Section Program.
Variables (p : gaussian_step) (o : way).
Let W := precision p.
Let U := unit W.
(* whether the gain of the event at t / 2^W is at least d / 2^W at a / 2^W *)
Definition dot_below (H : range) (a t d : Z) : bool :=
  let x := t * sigma_num p - sigma_den p * U in let y := U * sigma_num p in
  let E0 := half_square W (terms p) t U in let E1 := half_square W (terms p) x y in
  let rest := q_den p - q_num p in
  let least n (X : range) := if 0 <=? n then n * fst X else n * snd X in
  (0 <=? d) && (q_den p * (2 * snd H) * d <=?
  match o with
  | Remove => U * q_num p * fst (tail_range p H x y E1) + least (rest * U - a * q_den p) (tail_range p H t U E0)
  | Add => least (U * q_den p - a * rest) (tail_range p H (- t) U E0) - a * q_num p * snd (tail_range p H (- x) y E1)
  | Replaced => let x' := t * sigma_num p + sigma_den p * U in
      U * q_num p * fst (tail_range p H x y E1) + least (rest * (U - a)) (tail_range p H t U E0)
      - a * q_num p * snd (tail_range p H x' y (half_square W (terms p) x' y))
  end).
End Program.
Definition by_event (p : gaussian_step) (b : problem) : bool :=
  let E := expo (precision p) (terms p) (quotient_range (precision p) (eps_num b) (eps_den b)) in let d := bound b * unit (precision p - bits b) in
  sound_step p && (0 <? bits b) && (bits b <=? precision p) && (0 <=? eps_num b) && (0 <? eps_den b) &&
  match tests p with
  | [t] => match direction b with Above => dot_above p (in_order p) (half_range p) (fst E) t d | Below => dot_below p (in_order p) (half_range p) (snd E) t d end
  | _ => false
  end.
(* ---------- a whole law from below, by events of any kind ---------- *)
Section Law.
(* dot a t d: whether the event t has a gain of at least d / 2^W at a / 2^W *)
Variables (dot : Z -> Z -> Z -> bool) (W n : Z).
Let U := unit W.
(* From the last mass down.  F: the sum of the masses from here on; G: below the sum of mass e^(-h (index - here)); a: above
   e^(h here); d: above delta of the masses here.  The event of an index is for eps between it and the next one. *)
Fixpoint scan_below (r : range) (up top : Z) (l ts : list Z) : option (Z * Z * Z * Z) :=
  match l, ts with
  | [], [] => Some (0, 0, top, 0)
  | m :: l, t :: ts =>
      match scan_below r up top l ts with
      | Some (F, G, a, d) =>
          let K := F + m in let J := m * up + Z.shiftr (G * fst r) W in let b := - Z.shiftr (- (a * snd r)) W in let c := K * up - J in
          if (F =? 0) || dot a t d && dot b t c then Some (K, J, b, c) else None
      | None => None
      end
  | _, _ => None
  end.
Definition below_grid (ts : list Z) (h_num h_den B : Z) (v : ilaw) : bool :=
  let E := expo W n (quotient_range W h_num h_den) in
  let i := low v + Z.of_nat (length (mass v)) in
  let far_off := expo W n (quotient_range W (h_num * Z.abs i) h_den) in
  let top := if 0 <=? i then snd far_off else ceiling (U * U) (fst far_off) in
  let up := unit (W - B) in
  (0 <=? W) && (0 <=? n) && (0 <? B) && (B <=? W) && (0 <? h_num) && (0 <? h_den)
  && forallb (Z.leb 0) (mass v) && negb (Nat.eqb (length (mass v)) 0) && (inf v =? 0) &&
  match ts with
  | t :: ts => match scan_below (U * U / snd E, ceiling (U * U) (fst E)) up top (mass v) ts with
    | Some (F, G, a, d) => dot 0 t (F * up) && dot a t d
    | None => false end
  | [] => false
  end.
End Law.
Definition covers_below_way (p : gaussian_step) (o : way) (h_num h_den B : Z) (v : ilaw) : bool :=
  sound_step p && let H := half_range p in below_grid (dot_below p o H) (precision p) (terms p) (tests p) h_num h_den B v.
Definition covers_below (p : gaussian_step) : Z -> Z -> Z -> ilaw -> bool := covers_below_way p (in_order p).

(* ---------- what it decides ---------- *)
Open Scope R_scope.
Section Right.
Variables (p : gaussian_step) (o : way).
Let W := precision p.
Let U := unit W.
Let s := IZR U.
Let q := q_of p.
Let m := / sigma_of p.
Hypothesis sound : sound_step p = true.
Variables (H : range) (a t d : Z).
Hypothesis HH : within p H half.
Hypothesis Ha : (0 <= a)%Z.
Let al := IZR a / s.
Let tt := IZR t / s.
Theorem dot_below_ok : dot_below p o H a t d = true -> IZR d / s <= gain o q m tt al.
Proof. unfold dot_below. cbv zeta. fold W U. intros T. apply andb_prop in T as [T0 T]. apply Z.leb_le in T0. apply IZR_le in T0.
  destruct (sound_step_ok p sound) as [[HW [Hqn [Hqd _]]] _]. assert (SR : 0 < s) by exact (unit_gt0 W HW).
  assert (Y : (0 < U * sigma_num p)%Z) by exact (y_pos p sound t). assert (UP : (0 < U)%Z) by exact (unit_pos W HW).
  assert (QD : 0 < IZR (q_den p)) by (apply IZR_lt; lia). assert (QE : q * IZR (q_den p) = IZR (q_num p)) by (unfold q, q_of; field; lra).
  assert (AE : s * al = IZR a) by (unfold al; field; lra). assert (HP := half_pos). assert (HH' := HH). destruct HH' as [H1 H2].
  fold W in H1, H2. fold U in H1, H2. fold s in H1, H2. assert (QP := IZR_lt _ _ Hqn). apply IZR_le in Ha.
  assert (QH : IZR (q_den p) * (2 * (s * half)) * IZR d <= IZR (q_den p) * (2 * IZR (snd H)) * IZR d).
  { apply Rmult_le_compat_r; auto. apply Rmult_le_compat_l; lra. }
  assert (FIN : forall c, s * (IZR (q_den p) * (2 * half) * IZR d) <= s * (IZR (q_den p) * (2 * half) * (s * c)) -> IZR d / s <= c).
  { intros c Hc. apply Rmult_le_reg_l in Hc; auto. apply Rmult_le_reg_l in Hc; [|apply Rmult_lt_0_compat; lra].
    apply Rmult_le_reg_l with s; auto. replace (s * (IZR d / s)) with (IZR d) by (field; lra). exact Hc. }
  assert (LEAST : forall n (X : range) v, within p X v -> IZR (if (0 <=? n)%Z then n * fst X else n * snd X)%Z <= IZR n * (s * v)).
  { intros n X v [X1 X2]. fold W in X1, X2. fold U in X1, X2. fold s in X1, X2. destruct (Z.leb_spec 0 n) as [G|G]; rewrite mult_IZR.
    - apply Rmult_le_compat_l; [now apply IZR_le|auto].
    - apply IZR_lt in G. nra. }
  assert (MV := moved p sound t). fold W in MV. fold U in MV. fold s tt m in MV.
  assert (X1 := tail_ok p sound H (t * sigma_num p - sigma_den p * U) (U * sigma_num p) HH Y).
  assert (X2 := tail_ok p sound H t U HH UP).
  assert (X3 := tail_ok p sound H (- (t * sigma_num p - sigma_den p * U)) (U * sigma_num p) HH Y).
  assert (X4 := tail_ok p sound H (- t) U HH UP).
  assert (MIR : forall u v, half_square W (terms p) (- u) v = half_square W (terms p) u v)
    by (intros; unfold half_square; do 2 f_equal; lia).
  fold W in X1, X2, X3, X4. rewrite MIR in X3, X4. rewrite opp_IZR in X3, X4. unfold Rdiv in X3, X4.
  rewrite !Ropp_mult_distr_l_reverse in X3, X4. fold (IZR (t * sigma_num p - sigma_den p * U) / IZR (U * sigma_num p)) in X3.
  fold (IZR t / IZR U) in X4. rewrite MV in X1, X3. fold s in X2, X4. fold tt in X2, X4.
  rewrite tail_upper in X1. rewrite tail_upper in X2. rewrite tail_upper in X3. rewrite tail_upper in X4. replace (- (tt - m)) with (m - tt) in X3 by ring.
  set (x := (t * sigma_num p - sigma_den p * U)%Z) in *. set (y := (U * sigma_num p)%Z) in *. set (E1 := half_square W (terms p) x y) in *.
  apply Z.leb_le in T. apply IZR_le in T. rewrite !mult_IZR in T. apply FIN. destruct o as [[]|]; cbn [gain].
  - rewrite plus_IZR, !mult_IZR in T. fold s in T. set (n := ((q_den p - q_num p) * U - a * q_den p)%Z) in *.
    assert (NE : IZR n = - (s * IZR (q_den p) * (al - 1 + q))).
    { unfold n. rewrite minus_IZR, !mult_IZR, minus_IZR. fold s. rewrite <- AE, <- QE. ring. }
    assert (L := LEAST n _ _ X2). destruct X1 as [X1 _]. fold W in X1. fold U in X1. fold s in X1.
    set (Tx := fst (tail_range p H x y E1)) in *.
    assert (V1 : s * IZR (q_num p) * IZR Tx <= s * IZR (q_num p) * (s * (2 * half * upper (tt - m)))).
    { apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|auto]. }
    rewrite NE in L. rewrite <- QE in V1, T.
    replace (s * (IZR (q_den p) * (2 * half) * (s * (q * upper (tt - m) - (al - 1 + q) * upper tt))))
      with (s * (q * IZR (q_den p)) * (s * (2 * half * upper (tt - m))) + - (s * IZR (q_den p) * (al - 1 + q)) * (s * (2 * half * upper tt))) by ring.
    lra.
  - rewrite minus_IZR, !mult_IZR in T. set (n := (U * q_den p - a * (q_den p - q_num p))%Z) in *.
    assert (NE : IZR n = s * IZR (q_den p) * (1 - al * (1 - q))).
    { unfold n. rewrite minus_IZR, !mult_IZR, minus_IZR. fold s. rewrite <- AE, <- QE. ring. }
    assert (L := LEAST n _ _ X4). destruct X3 as [_ X3]. fold W in X3. fold U in X3. fold s in X3.
    set (Tx := snd (tail_range p H (- x) y E1)) in *.
    assert (V1 : IZR a * IZR (q_num p) * IZR Tx >= IZR a * IZR (q_num p) * (s * (2 * half * upper (m - tt)))).
    { apply Rle_ge, Rmult_le_compat_l; [apply Rmult_le_pos; lra|auto]. }
    rewrite NE in L. rewrite <- AE, <- QE in V1, T.
    replace (s * (IZR (q_den p) * (2 * half) * (s * ((1 - al * (1 - q)) * upper (- tt) - al * q * upper (m - tt)))))
      with (s * IZR (q_den p) * (1 - al * (1 - q)) * (s * (2 * half * upper (- tt))) - s * al * (q * IZR (q_den p)) * (s * (2 * half * upper (m - tt)))) by ring.
    lra.
  - set (x' := (t * sigma_num p + sigma_den p * U)%Z) in *. rewrite minus_IZR, plus_IZR, !mult_IZR in T. fold s in T.
    set (n := ((q_den p - q_num p) * (U - a))%Z) in *.
    assert (NE : IZR n = s * IZR (q_den p) * ((1 - q) * (1 - al))).
    { unfold n. rewrite mult_IZR, !minus_IZR. fold s. rewrite <- AE, <- QE. ring. }
    assert (MV' : IZR x' / IZR y = tt - - m).
    { destruct (sound_step_ok p sound) as [[_ [_ [_ [A [B _]]]]] _]. apply IZR_lt in A. apply IZR_lt in B.
      unfold x', y, tt, m, sigma_of. rewrite plus_IZR, !mult_IZR. fold s. field; lra. }
    assert (X5 := tail_ok p sound H x' y HH Y). fold W in X5. rewrite MV', tail_upper in X5. replace (tt - - m) with (tt + m) in X5 by ring.
    assert (L := LEAST n _ _ X2). destruct X1 as [X1 _]. fold W in X1. fold U in X1. fold s in X1.
    destruct X5 as [_ X5]. fold W in X5. fold U in X5. fold s in X5.
    set (Tx := fst (tail_range p H x y E1)) in *. set (Ty := snd (tail_range p H x' y _)) in *.
    assert (V1 : s * IZR (q_num p) * IZR Tx <= s * IZR (q_num p) * (s * (2 * half * upper (tt - m)))).
    { apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|auto]. }
    assert (V2 : IZR a * IZR (q_num p) * IZR Ty >= IZR a * IZR (q_num p) * (s * (2 * half * upper (tt + m)))).
    { apply Rle_ge, Rmult_le_compat_l; [apply Rmult_le_pos; lra|auto]. }
    rewrite NE in L. rewrite <- AE, <- QE in V2. rewrite <- QE in V1. rewrite <- AE, <- QE in T. unfold replaced_gain.
    replace (s * (IZR (q_den p) * (2 * half) * (s * (q * upper (tt - m) + (1 - q) * (1 - al) * upper tt - al * q * upper (tt + m)))))
      with (s * (q * IZR (q_den p)) * (s * (2 * half * upper (tt - m))) + s * IZR (q_den p) * ((1 - q) * (1 - al)) * (s * (2 * half * upper tt))
        - s * al * (q * IZR (q_den p)) * (s * (2 * half * upper (tt + m)))) by ring.
    lra. Qed.
End Right.

Theorem by_event_ok p b : by_event p b = true -> 0 < q_of p <= 1 /\ 0 < sigma_of p /\ 
  match direction b with
  | Above => curve (in_order p) (q_of p) (/ sigma_of p) (exp (epsilon_of b)) <= IZR (bound b) / unit_of b
  | Below => exists t, IZR (bound b) / unit_of b <= gain (in_order p) (q_of p) (/ sigma_of p) t (exp (epsilon_of b))
  end.
Proof. unfold by_event. cbv zeta. intros T. apply andb_prop in T as [T SC]. do 4 (apply andb_prop in T as [T ?]).
  rename T into SS. destruct (sound_step_ok p SS) as [[HW [Hqn [Hqd [Hsn [Hsd [Ht Hf]]]]]] [Q Sg]].
  repeat match goal with X : (_ <? _)%Z = true |- _ => apply Z.ltb_lt in X | X : (_ <=? _)%Z = true |- _ => apply Z.leb_le in X end.
  repeat (split; auto). set (W := precision p) in *.
  assert (M := m_gt0 p SS). assert (SR := unit_gt0 (precision p) HW). fold W in SR.
  destruct (expo_ok W HW (terms p) (quotient_range W (eps_num b) (eps_den b)) (epsilon_of b) Ht
    (quotient_range_ok W HW (eps_num b) (eps_den b) ltac:(auto) ltac:(auto))) as [[E0 [E1 E2]] E3].
  set (E := expo _ _ _) in *. assert (US : IZR (2 ^ W) = IZR (unit W)) by exact (unit_pow (precision p)). rewrite US in E1, E2.
  assert (X := exp_pos (epsilon_of b)). assert (HH := half_ok p SS).
  assert (BU : IZR (bound b * unit (W - bits b)) / IZR (unit W) = IZR (bound b) / unit_of b).
  { unfold unit_of. assert (BP : 0 < IZR (2 ^ bits b)) by (apply IZR_lt, Z.pow_pos_nonneg; lia).
    assert (UW : IZR (unit W) = IZR (unit (W - bits b)) * IZR (2 ^ bits b)).
    { rewrite <- mult_IZR. f_equal. rewrite !unit_ok by lia. rewrite <- Z.pow_add_r by lia. f_equal; lia. }
    assert (0 < IZR (unit (W - bits b))) by (apply IZR_lt; rewrite unit_ok by lia; apply Z.pow_pos_nonneg; lia).
    rewrite UW, mult_IZR. field; lra. }
  destruct (tests p) as [|t [|]]; try discriminate. destruct (direction b).
  - assert (D := proj2 (dot_ok p SS (half_range p) (fst E) t _ HH E0 (in_order p) SC)). fold W in D. rewrite BU in D.
    eapply Rle_trans; [|exact D].
    apply (curve_is_curve _ _ Q M (in_order p)).
    split; [apply Rmult_le_pos; [now apply IZR_le|left; now apply Rinv_0_lt_compat]|].
      apply Rmult_le_reg_r with (IZR (unit W)); auto. unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra.
  - assert (S0 : (0 <= snd E)%Z) by (apply le_IZR; nra).
    assert (D := dot_below_ok p (in_order p) SS (half_range p) (snd E) t _ HH S0 SC). fold W in D. rewrite BU in D.
    eexists. eapply Rle_trans; [exact D|]. apply gain_falls; auto.
    apply Rmult_le_reg_r with (IZR (unit W)); auto. unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra. Qed.

(* ---------- a whole law from below ---------- *)
Lemma line_between K L A B a b x : a < b -> a <= x <= b -> K - a * L <= A - a * B -> K - b * L <= A - b * B -> K - x * L <= A - x * B.
Proof. intros H X Y Z. apply Rmult_le_reg_l with (b - a); [lra|].
  assert ((b - x) * (K - a * L) <= (b - x) * (A - a * B)) by (apply Rmult_le_compat_l; lra).
  assert ((x - a) * (K - b * L) <= (x - a) * (A - b * B)) by (apply Rmult_le_compat_l; lra). lra. Qed.
Lemma sumv_zero l : nnv l -> sumv l = 0%Z -> forall f h u i, E f (atoms h u i l) = 0.
Proof. intros V. induction V as [|m l Hm V IH]; intros Z f h u i; cbn [atoms E fst snd]; auto. cbn [sumv] in Z.
  assert (S := sumv_ge0 _ V). rewrite IH by lia. replace m with 0%Z by lia. unfold Rdiv; ring. Qed.
Section Scan.
Variables (dot : Z -> Z -> Z -> bool) (W : Z) (gain_of : Z -> R -> R) (slope : Z -> R).
Hypothesis HW : (0 <= W)%Z.
Let U := unit W.
Let s := IZR U.
Hypothesis linear : forall t a b, gain_of t b = gain_of t a - (b - a) * slope t.
Hypothesis falling : forall t, 0 <= slope t.
Hypothesis most : forall t, gain_of t 0 <= 1.
Hypothesis HD : forall a t d, (0 <= a)%Z -> dot a t d = true -> IZR d / s <= gain_of t (IZR a / s).
Section OnGrid.
Variables (r : range) (h : R) (B top : Z).
Hypothesis HB : (0 < B <= W)%Z.
Hypothesis Hr : (0 <= fst r)%Z /\ IZR (fst r) <= s * exp (- h) <= IZR (snd r).
Hypothesis Hh : 0 < h.
Let u := IZR (unit B).
Let up := unit (W - B).
Let gains (ts : list Z) (e : R) (y : R) := y <= 0 \/ exists t, In t ts /\ y <= gain_of t (exp e).
Lemma two_dots a t d x f : (0 <= a)%Z -> s * x <= IZR a -> s * f <= IZR d -> dot a t d = true -> f <= gain_of t x.
Proof. intros A X D T. assert (SR : 0 < s) by exact (unit_gt0 W HW). assert (K := HD a t d A T).
  apply Rle_trans with (IZR d / s); [apply Rmult_le_reg_r with s; auto; unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra|].
  eapply Rle_trans; [exact K|]. rewrite (linear t x (IZR a / s)). assert (G := falling t).
  assert (x <= IZR a / s) by (apply Rmult_le_reg_r with s; auto; unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra). nra. Qed.
Lemma between t K L a b x : a < b -> a <= x <= b -> K - a * L <= gain_of t a -> K - b * L <= gain_of t b -> K - x * L <= gain_of t x.
Proof. intros H X Y Z. rewrite (linear t 0 x). rewrite (linear t 0 a) in Y. rewrite (linear t 0 b) in Z.
  rewrite !Rminus_0_r in *. now apply (line_between K L _ _ a b x). Qed.
Lemma scan_below_ok l : nnv l -> forall ts i F G a d, s * exp (h * IZR (i + Z.of_nat (length l))) <= IZR top ->
  scan_below dot W r up top l ts = Some (F, G, a, d) ->
  F = sumv l /\ IZR G <= s * E (fun z => exp (h * IZR i - z)) (atoms h u i l) /\ s * exp (h * IZR i) <= IZR a
  /\ s * E (w (h * IZR i)) (atoms h u i l) <= IZR d /\ forall e, h * IZR i <= e -> gains ts e (E (w e) (atoms h u i l)).
Proof. intros V. assert (SR : 0 < s) by exact (unit_gt0 W HW).
  assert (UR : 0 < u) by exact (u_gt0 W B HB). assert (UPE : IZR up * u = s) by exact (up_ok W B HB).
  assert (US : IZR (2 ^ W) = s) by exact (unit_pow W).
  induction V as [|k l Hk V IH]; intros ts i F G a d Ht T; destruct ts as [|t ts]; cbn [scan_below] in T; try discriminate.
  - injection T as <- <- <- <-. cbn [sumv atoms E length Z.of_nat] in *. rewrite Z.add_0_r in Ht.
    repeat split; auto; try lra. intros; left; lra.
  - destruct (scan_below dot W r up top l ts) as [[[[F0 G0] a0] d0]|] eqn:T0; [|discriminate]. cbv zeta in T.
    assert (Ht' : s * exp (h * IZR (i + 1 + Z.of_nat (length l))) <= IZR top).
    { replace (i + 1 + Z.of_nat (length l))%Z with (i + Z.of_nat (length (k :: l)))%Z by (cbn [length]; lia). exact Ht. }
    destruct (IH ts (i + 1)%Z F0 G0 a0 d0 Ht' T0) as [EF [EG [EA [ED EE]]]]. clear IH.
    set (K1 := (F0 + k)%Z) in *. set (G1 := (k * up + Z.shiftr (G0 * fst r) W)%Z) in *. set (a1 := (- Z.shiftr (- (a0 * snd r)) W)%Z) in *.
    destruct ((F0 =? 0)%Z || _) eqn:C; [|discriminate]. injection T as <- <- <- <-.
    destruct Hr as [R0 [R1 R2]]. apply IZR_le in R0. assert (XP := exp_pos (- h)).
    assert (SH : h * IZR (i + 1) = h * IZR i + h) by (rewrite plus_IZR; ring).
    assert (XI := exp_pos (h * IZR (i + 1))). assert (A0 : 0 < IZR a0) by nra.
    assert (EX : exp (h * IZR i) = exp (h * IZR (i + 1)) * exp (- h)) by (rewrite <- exp_plus; f_equal; lra).
    assert (EA1 : s * exp (h * IZR i) <= IZR a1).
    { unfold a1. eapply Rle_trans; [|apply shiftr_ge; auto]. rewrite US, mult_IZR. apply Rmult_le_reg_r with s; auto.
      unfold Rdiv; rewrite (Rmult_assoc (_ * _)), Rinv_l, Rmult_1_r by lra. rewrite EX.
      replace (s * (exp (h * IZR (i + 1)) * exp (- h)) * s) with (s * exp (h * IZR (i + 1)) * (s * exp (- h))) by ring.
      apply Rmult_le_compat; auto; apply Rmult_le_pos; lra. }
    set (S0 := E (fun z => exp (h * IZR (i + 1) - z)) (atoms h u (i + 1) l)) in *.
    assert (EL : E (fun z => exp (h * IZR i - z)) (atoms h u (i + 1) l) = exp (- h) * S0).
    { unfold S0. rewrite <- E_scal. apply E_ext. intros z. rewrite <- exp_plus. f_equal; lra. }
    assert (S00 : 0 <= S0) by (apply E_ge0; [now apply nn_atoms|intros; left; apply exp_pos]).
    assert (GE : IZR (Z.shiftr (G0 * fst r) W) <= s * (exp (- h) * S0)).
    { eapply Rle_trans; [apply shiftr_le; auto|]. rewrite US, mult_IZR. apply Rmult_le_reg_r with s; auto.
      unfold Rdiv; rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
      apply Rle_trans with (s * S0 * IZR (fst r)); [now apply Rmult_le_compat_r|].
      replace (s * (exp (- h) * S0) * s) with (s * S0 * (s * exp (- h))) by ring. apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|auto]. }
    assert (EG1 : IZR G1 <= s * E (fun z => exp (h * IZR i - z)) (atoms h u i (k :: l))).
    { cbn [atoms E fst snd]. rewrite EL. unfold Rminus at 1. rewrite Rplus_opp_r, exp_0. unfold G1. rewrite plus_IZR, mult_IZR.
      replace (s * (IZR k / u * 1 + exp (- h) * S0)) with (IZR k * IZR up + s * (exp (- h) * S0)) by (rewrite <- UPE; field; lra). lra. }
    assert (DI : E (w (h * IZR i)) (atoms h u i (k :: l)) = E (w (h * IZR i)) (atoms h u (i + 1) l)) by (apply w_below; lra).
    assert (OI : forall e, e <= h * IZR (i + 1) -> E (w e) (atoms h u (i + 1) l) = IZR F0 / u - exp e * E (fun z => exp (- z)) (atoms h u (i + 1) l)).
    { intros e He. rewrite discounted by auto. rewrite E_one_atoms by auto. now rewrite EF. }
    set (L0 := E (fun z => exp (- z)) (atoms h u (i + 1) l)) in *.
    assert (SL : exp (h * IZR i) * L0 = exp (- h) * S0).
    { rewrite <- EL. unfold L0. rewrite <- E_scal. apply E_ext. intros z. rewrite <- exp_plus. reflexivity. }
    assert (ED1 : s * E (w (h * IZR i)) (atoms h u i (k :: l)) <= IZR (K1 * up - G1)).
    { rewrite DI, OI by lra. rewrite SL. unfold G1, K1. rewrite minus_IZR, plus_IZR, !mult_IZR, plus_IZR.
      replace (s * (IZR F0 / u - exp (- h) * S0)) with (IZR F0 * IZR up - s * (exp (- h) * S0)) by (rewrite <- UPE; field; lra). lra. }
    repeat split; auto; [unfold K1; cbn [sumv]; lia|]. intros e He. rewrite (w_below h u i k l e He).
    destruct (Rle_lt_dec (h * IZR (i + 1)) e) as [J|J].
    + destruct (EE e J) as [Z|[t' [I1 I2]]]; [now left|right]. exists t'; split; [now right|auto].
    + destruct (Z.eqb_spec F0 0) as [Z|Z].
      { left. right. apply sumv_zero; auto. now rewrite <- EF. }
      cbn [orb] in C. apply andb_prop in C as [C1 C2]. right. exists t. split; [now left|].
      assert (P0 : (0 <= a0)%Z) by (apply le_IZR; lra). assert (P1 : (0 <= a1)%Z) by (apply le_IZR; assert (X := exp_pos (h * IZR i)); nra).
      assert (T1 := two_dots a0 t d0 _ _ P0 EA ED C1). rewrite DI in ED1. assert (T2 := two_dots a1 t _ _ _ P1 EA1 ED1 C2).
      rewrite OI in T1, T2 |- * by lra. apply (between t _ _ (exp (h * IZR i)) (exp (h * IZR (i + 1)))); auto.
      * apply exp_increasing; lra.
      * split; apply exp_le; lra. Qed.
End OnGrid.
Theorem below_grid_ok n ts h_num h_den B v : below_grid dot W n ts h_num h_den B v = true ->
  let L := law_of (IZR h_num / IZR h_den) (IZR (2 ^ B)) v in
  nonneg L /\ tot L <= 1 /\ forall e, delta e L <= 0 \/ exists t, In t ts /\ delta e L <= gain_of t (exp e).
Proof. unfold below_grid. cbv zeta. fold U. intros T. apply andb_prop in T as [T SC]. do 8 (apply andb_prop in T as [T ?]).
  repeat match goal with X : (_ <? _)%Z = true |- _ => apply Z.ltb_lt in X | X : (_ <=? _)%Z = true |- _ => apply Z.leb_le in X
    | X : (_ =? _)%Z = true |- _ => apply Z.eqb_eq in X end.
  destruct ts as [|t ts]; [discriminate|]. destruct (scan_below _ _ _ _ _ _ _) as [[[[F G] a] d]|] eqn:S; [|discriminate].
  apply andb_prop in SC as [C0 C1]. set (h := IZR h_num / IZR h_den).
  assert (HN := IZR_lt 0 h_num ltac:(lia)). assert (HDn := IZR_lt 0 h_den ltac:(lia)).
  assert (Hh : 0 < h) by now apply Rdiv_lt_0_compat.
  assert (NV : nnv (mass v)).
  { match goal with X : forallb _ _ = true |- _ => rewrite forallb_forall in X end. apply Forall_forall; intros x Hx. apply Z.leb_le; auto. }
  set (E1 := expo W n (quotient_range W h_num h_den)) in *.
  set (i := (low v + Z.of_nat (length (mass v)))%Z) in *. set (E2 := expo W n (quotient_range W (h_num * Z.abs i) h_den)) in *.
  assert (UE := unit_pow W).
  assert (UP : (0 < unit W)%Z) by (apply unit_pos; auto). assert (UR := IZR_lt _ _ UP).
  destruct (expo_ok W HW n (quotient_range W h_num h_den) h ltac:(auto) (quotient_range_ok W HW h_num h_den ltac:(lia) ltac:(auto))) as [A1 A2].
  fold E1 in A1, A2. rewrite <- unit_ok in A2 by auto.
  destruct (holds_inverse W HW E1 (exp h) A1 ltac:(lia) (exp_pos _)) as [B1 B2].  rewrite <- exp_Ropp in B1, B2.
  assert (HE2 : holds W E2 (exp (h * IZR (Z.abs i))) /\ (2 ^ W <= fst E2)%Z).
  { apply expo_ok; auto. replace (h * IZR (Z.abs i)) with (IZR (h_num * Z.abs i) / IZR h_den) by (unfold h; rewrite mult_IZR; field; lra).
    apply quotient_range_ok; auto. nia. }
  destruct HE2 as [D1 D2]. rewrite <- unit_ok in D2 by auto.
  set (top := if (0 <=? i)%Z then snd E2 else ceiling (unit W * unit W) (fst E2)) in *.
  assert (TP : IZR (unit W) * exp (h * IZR i) <= IZR top).
  { unfold top. destruct (Z.leb_spec 0 i) as [G0|G0].
    - rewrite Z.abs_eq in D1 by auto. destruct D1 as [_ [_ D1]]. rewrite UE in D1. auto.
    - rewrite Z.abs_neq, opp_IZR in D1 by lia. destruct (holds_inverse W HW E2 _ D1 ltac:(lia) (exp_pos _)) as [_ K]. 
      rewrite <- exp_Ropp in K. now replace (- (h * - IZR i)) with (h * IZR i) in K by ring. }
  assert (HB : (0 < B <= W)%Z) by (split; auto).
  assert (R0 : (0 <= unit W * unit W / snd E1)%Z).
  { apply Z.div_pos; [nia|]. destruct A1 as [_ [D3 D4]]. apply lt_IZR. assert (0 < IZR (fst E1)) by (apply IZR_lt; lia). lra. }
  assert (K := scan_below_ok (unit W * unit W / snd E1, ceiling (unit W * unit W) (fst E1))%Z h B top HB
    (conj R0 (conj B1 B2)) Hh (mass v) NV ts (low v) F G a d TP S).
  destruct K as [EF [_ [EA [ED EE]]]]. assert (UB : unit B = (2 ^ B)%Z) by (apply unit_ok). fold U in EA, ED. rewrite UB in *.
  assert (BP : 0 < IZR (2 ^ B)) by (apply IZR_lt, Z.pow_pos_nonneg; lia). set (u := IZR (2 ^ B)) in *.
  assert (UPE : IZR (unit (W - B)) * u = IZR (unit W)) by (unfold u; rewrite <- UB; exact (up_ok W B HB)).
  assert (FE : IZR (unit W) * (IZR F / u) <= IZR (F * unit (W - B))) by (rewrite mult_IZR, <- UPE; right; field; lra).
  assert (IV : IZR (inf v) = 0) by (match goal with X : inf v = _ |- _ => rewrite X end; auto).
  assert (Z0 : IZR (unit W) * 0 <= IZR 0) by lra.
  assert (T0 := two_dots 0 t _ 0 _ (Z.le_refl 0) Z0 FE C0).
  assert (PA : (0 <= a)%Z) by (apply le_IZR; assert (X := exp_pos (h * IZR (low v))); assert (SR : 0 < s) by exact (unit_gt0 W HW); nra).
  assert (T1 := two_dots a t d _ _ PA EA ED C1).
  assert (OI : forall e, e <= h * IZR (low v) -> E (w e) (atoms h u (low v) (mass v)) = IZR F / u - exp e * E (fun z => exp (- z)) (atoms h u (low v) (mass v))).
  { intros e He. rewrite discounted by auto. rewrite E_one_atoms by auto. now rewrite EF. }
  assert (DE : forall e, delta e (law_of h u v) = E (w e) (atoms h u (low v) (mass v))).
  { intros e. unfold delta, law_of; cbn [fst snd]. rewrite IV. unfold Rdiv; ring. }
  split; [|split].
  - split; cbn [law_of fst snd]; [now apply nn_atoms|]. rewrite IV. unfold Rdiv; lra.
  - unfold tot, law_of; cbn [fst snd]. fold u. rewrite E_one_atoms, <- EF, IV by auto. assert (G1 := most t). unfold Rdiv at 1. lra.
  - intros e. rewrite DE. destruct (Rle_lt_dec (h * IZR (low v)) e) as [J|J].
    + destruct (EE e J) as [Z|[t' [I1 I2]]]; [now left|right]. exists t'; split; [now right|auto].
    + right. exists t. split; [now left|]. rewrite OI in T1 |- * by lra.
      apply (between t _ _ 0 (exp (h * IZR (low v)))); [apply exp_pos| |lra|auto].
      split; [left; apply exp_pos|apply exp_le; lra]. Qed.
End Scan.
Theorem covers_below_way_ok p o h_num h_den B v : covers_below_way p o h_num h_den B v = true ->
  let L := law_of (IZR h_num / IZR h_den) (IZR (2 ^ B)) v in
  nonneg L /\ 0 < q_of p <= 1 /\ 0 < sigma_of p /\ tot L <= 1 /\
  forall e, delta e L <= 0 \/ exists t, In t (tests p) /\
    delta e L <= gain o (q_of p) (/ sigma_of p) (IZR t / IZR (unit (precision p))) (exp e).
Proof. unfold covers_below_way. cbv zeta. intros T. apply andb_prop in T as [SS T]. destruct (sound_step_ok p SS) as [[HW _] [Q Sg]].
  set (G := fun t a => gain o (q_of p) (/ sigma_of p) (IZR t / IZR (unit (precision p))) a).
  assert (K := below_grid_ok (dot_below p o (half_range p)) (precision p) G (fun t => G t 0 - G t 1) HW
    (fun t a b => gain_linear _ _ _ _ a b) (fun t => Rge_le _ _ (Rge_minus _ _ (Rle_ge _ _ (gain_falls _ _ _ _ 0 1 Q Rle_0_1))))).
  destruct (K (fun t => line_le _ _ _ _ (fun x => gain_most o _ _ _ Q x) (gain_int _ _ _ _ _) (pair_P_int _ _ o))
    (fun a t d A D => dot_below_ok p o SS (half_range p) a t d (half_ok p SS) A D) (terms p) (tests p) h_num h_den B v T) as [N [M E]].
  auto. Qed.
Theorem covers_below_ok p h_num h_den B v : covers_below p h_num h_den B v = true ->
  let L := law_of (IZR h_num / IZR h_den) (IZR (2 ^ B)) v in
  nonneg L /\ 0 < q_of p <= 1 /\ 0 < sigma_of p /\ tot L <= 1 /\
  forall e, delta e L <= 0 \/ exists t, In t (tests p) /\
    delta e L <= gain (in_order p) (q_of p) (/ sigma_of p) (IZR t / IZR (unit (precision p))) (exp e).
Proof. apply covers_below_way_ok. Qed.
