(* 13d. Laplace noise from below, by events.

   Of Laplace noise on two numbers r scales apart the event {x > t}, 0 <= t <= r scales above the lower one, has
     P(event) - a Q(event) = 1 - e^(t - r) / 2 - a e^(-t) / 2                                       (lap_gain; Refuted.v)
   and all outputs together have 1 - a.  `covers_laplace_below` decides that the law of an integer law is below the curve of
   these events; it takes for each cell of the grid the event that is best at its middle, for the last one almost at its
   end.  `covers_discrete_below` does the same for discrete noise, by events {k <= t}. *)
Require Import Reals ZArith List Lra Lia Bool.
From VerifiedDP Require Import Law Kronecker Exponential Checker Link Integral Normal Enclosures SampledGaussian Events Discrete Guaranteed.
Import ListNotations.
Open Scope R_scope.

Definition lap_gain (r t a : R) : R :=
  if Rlt_dec t 0 then 1 - a else if Rle_dec t r then 1 - exp (t - r) / 2 - a * (exp (- t) / 2) else 0.
Definition lap_slope (r t : R) : R := if Rlt_dec t 0 then 1 else if Rle_dec t r then exp (- t) / 2 else 0.
Lemma lap_gain_linear r t a b : lap_gain r t b = lap_gain r t a - (b - a) * lap_slope r t.
Proof. unfold lap_gain, lap_slope. destruct (Rlt_dec t 0), (Rle_dec t r); ring. Qed.
Lemma lap_slope_ge0 r t : 0 <= lap_slope r t.
Proof. unfold lap_slope. assert (X := exp_pos (- t)). destruct (Rlt_dec t 0), (Rle_dec t r); lra. Qed.
Lemma lap_gain_most r t : lap_gain r t 0 <= 1.
Proof. unfold lap_gain. assert (X := exp_pos (t - r)). destruct (Rlt_dec t 0), (Rle_dec t r); lra. Qed.

(* ---------- the program ---------- *)
Open Scope Z_scope.
Section Program.
Variable g : guaranteed_step.
Let W := g_precision g.
Let U := unit W.
(* whether the gain of the event at t / 2^W is at least d / 2^W at a / 2^W *)
Definition dot_laplace (a t d : Z) : bool :=
  if t <? 0 then d <=? U - a
  else if t * g_eps_den g <=? g_eps_num g * U then
    let E0 := expo W (g_terms g) (quotient_range W t U) in
    let E1 := expo W (g_terms g) (quotient_range W (g_eps_num g * U - t * g_eps_den g) (g_eps_den g * U)) in
    d <=? U - ceiling (U * U) (2 * fst E1) - ceiling (a * U) (2 * fst E0)
  else d <=? 0.
(* about half of the sum of r and a place in the cell: its middle; in the last one almost its end *)
Fixpoint halfway (i h_num h_den : Z) (l : list Z) : list Z :=
  match l with
  | [] => []
  | _ :: l =>
      let n := match l with [_] => 2 * i + 2 | _ => 2 * i + 1 end in let near := match l with [_] => U / 2 ^ 40 | _ => 0 end in
      (n * h_num * g_eps_den g + 2 * h_den * g_eps_num g) * U / (4 * h_den * g_eps_den g) - h_num * near / h_den
      :: halfway (i + 1) h_num h_den l
  end.
Definition laplace_tests (h_num h_den : Z) (v : ilaw) : list Z := -1 :: halfway (low v) h_num h_den (mass v).
Definition covers_laplace_below (h_num h_den B : Z) (v : ilaw) : bool :=
  match g_source g with Laplace_noise => true | _ => false end && sound_guarantee g && (g_q_num g =? g_q_den g)
  && below_grid dot_laplace W (g_terms g) (laplace_tests h_num h_den v) h_num h_den B v.
End Program.

(* ---------- what it decides ---------- *)
Open Scope R_scope.
Section Right.
Variable g : guaranteed_step.
Let W := g_precision g.
Let U := unit W.
Let s := IZR U.
Hypothesis HW : (0 <= W)%Z.
Hypothesis Ht : (0 <= g_terms g)%Z.

Hypothesis Hd : (0 < g_eps_den g)%Z.
Let r := g_eps g.
Lemma dot_laplace_ok a t d : (0 <= a)%Z -> dot_laplace g a t d = true -> IZR d / s <= lap_gain r (IZR t / s) (IZR a / s).
Proof. intros Ha. unfold dot_laplace. cbv zeta. fold W. fold U. assert (SR : 0 < s) by exact (unit_gt0 W HW). assert (UP : (0 < U)%Z) by exact (unit_pos W HW).
  assert (US : IZR (2 ^ W) = s) by exact (unit_pow W). assert (ED := IZR_lt _ _ Hd). apply IZR_le in Ha. set (tt := IZR t / s). set (al := IZR a / s).
  assert (TE : s * tt = IZR t) by (unfold tt; field; lra). assert (AE : s * al = IZR a) by (unfold al; field; lra).
  assert (RE : r * IZR (g_eps_den g) = IZR (g_eps_num g)) by (unfold r, g_eps; field; lra).
  assert (FIN : forall c, IZR d <= s * c -> IZR d / s <= c) by (intros c C; apply Rmult_le_reg_r with s; auto; unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra).
  unfold lap_gain. destruct (Z.ltb_spec t 0) as [T|T]; [intros D; apply Z.leb_le, IZR_le in D|].
  - apply IZR_lt in T. destruct (Rlt_dec tt 0) as [_|N]; [|exfalso; apply N; nra]. apply FIN. rewrite minus_IZR in D. fold s in D. lra.
  - apply IZR_le in T. assert (T0 : 0 <= tt) by nra. destruct (Rlt_dec tt 0) as [N|_]; [lra|].
    destruct (Z.leb_spec (t * g_eps_den g) (g_eps_num g * U)) as [L|L]; intros D; apply Z.leb_le, IZR_le in D.
    + assert (L' : (0 <= g_eps_num g * U - t * g_eps_den g)%Z) by lia. apply IZR_le in L. rewrite !mult_IZR in L. fold s in L. rewrite <- RE, <- TE in L.
      destruct (Rle_dec tt r) as [R1|N]; [|exfalso; apply N; apply Rmult_le_reg_r with (s * IZR (g_eps_den g)); [now apply Rmult_lt_0_compat|lra]].
      assert (Q0 : (0 <= t)%Z) by (apply le_IZR; lra).
      destruct (expo_ok W HW (g_terms g) (quotient_range W t U) tt Ht (quotient_range_ok W HW t U Q0 UP)) as [[A0 [A1 A2]] A3].
      assert (QR := quotient_range_ok W HW (g_eps_num g * U - t * g_eps_den g) (g_eps_den g * U) L' ltac:(nia)).
      replace (IZR (g_eps_num g * U - t * g_eps_den g) / IZR (g_eps_den g * U)) with (r - tt) in QR.
      2:{ rewrite minus_IZR, !mult_IZR. fold s. rewrite <- RE, <- TE. field. lra. }
      destruct (expo_ok W HW (g_terms g) _ (r - tt) Ht QR) as [[B0 [B1 B2]] B3]. rewrite US in *.
      set (E0 := expo W (g_terms g) (quotient_range W t U)) in *. set (E1 := expo W (g_terms g) (quotient_range W (g_eps_num g * U - t * g_eps_den g) (g_eps_den g * U))) in *.
      assert (UW : (2 ^ W)%Z = U) by (symmetry; apply unit_ok; auto). rewrite UW in *. assert (F0 : 0 < IZR (fst E0)) by (apply IZR_lt; lia). assert (F1 : 0 < IZR (fst E1)) by (apply IZR_lt; lia).
      assert (X0 := exp_pos tt). assert (X1 := exp_pos (r - tt)). assert (N0 : exp (- tt) * exp tt = 1) by (rewrite <- exp_plus; replace (- tt + tt) with 0 by ring; apply exp_0).
      assert (N1 : exp (tt - r) * exp (r - tt) = 1) by (rewrite <- exp_plus; replace (tt - r + (r - tt)) with 0 by ring; apply exp_0).
      assert (Y0 := exp_pos (- tt)). assert (Y1 := exp_pos (tt - r)).
      assert (C0 : s * (al * (exp (- tt) / 2)) <= IZR (ceiling (a * U) (2 * fst E0))).
      { eapply Rle_trans; [|apply ceiling_ge; lia]. rewrite !mult_IZR. fold s. rewrite <- AE. apply Rmult_le_reg_r with (2 * IZR (fst E0)); [lra|]. replace (s * al * s / (2 * IZR (fst E0)) * (2 * IZR (fst E0))) with (s * al * s) by (field; lra).
        replace (s * (al * (exp (- tt) / 2)) * (2 * IZR (fst E0))) with (s * al * (exp (- tt) * IZR (fst E0))) by field. apply Rmult_le_compat_l; [lra|].
        apply Rle_trans with (exp (- tt) * (s * exp tt)); [apply Rmult_le_compat_l; lra|]. replace (exp (- tt) * (s * exp tt)) with (s * (exp (- tt) * exp tt)) by ring. rewrite N0. lra. }
      assert (C1 : s * (exp (tt - r) / 2) <= IZR (ceiling (U * U) (2 * fst E1))).
      { eapply Rle_trans; [|apply ceiling_ge; lia]. rewrite !mult_IZR. fold s. apply Rmult_le_reg_r with (2 * IZR (fst E1)); [lra|]. replace (s * s / (2 * IZR (fst E1)) * (2 * IZR (fst E1))) with (s * s) by (field; lra).
        replace (s * (exp (tt - r) / 2) * (2 * IZR (fst E1))) with (s * (exp (tt - r) * IZR (fst E1))) by field. apply Rmult_le_compat_l; [lra|].
        apply Rle_trans with (exp (tt - r) * (s * exp (r - tt))); [apply Rmult_le_compat_l; lra|]. replace (exp (tt - r) * (s * exp (r - tt))) with (s * (exp (tt - r) * exp (r - tt))) by ring. rewrite N1. lra. }
      apply FIN. rewrite !minus_IZR in D. fold s in D. lra.
    + apply IZR_lt in L. rewrite !mult_IZR in L. fold s in L. rewrite <- RE, <- TE in L.
      destruct (Rle_dec tt r) as [R1|_]; [exfalso; assert (tt * (s * IZR (g_eps_den g)) <= r * (s * IZR (g_eps_den g))) by (apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|auto]); lra|].
      apply FIN. lra. Qed.
End Right.
Theorem covers_laplace_below_ok g h_num h_den B v : covers_laplace_below g h_num h_den B v = true ->
  let L := law_of (IZR h_num / IZR h_den) (IZR (2 ^ B)) v in
  g_source g = Laplace_noise /\ 0 <= g_eps g /\ nonneg L /\ tot L <= 1 /\
  forall e, delta e L <= 0 \/ exists t, In t (laplace_tests g h_num h_den v) /\ delta e L <= lap_gain (g_eps g) (IZR t / IZR (unit (g_precision g))) (exp e).
Proof. unfold covers_laplace_below. intros T. apply andb_prop in T as [T BG]. apply andb_prop in T as [T _]. apply andb_prop in T as [SO SG].
  destruct (sound_guarantee_ok g SG) as [[HW [_ [He [Hd [_ [_ Ht]]]]]] S2]. destruct (g_source g) eqn:SE; try discriminate.
  destruct (below_grid_ok (dot_laplace g) (g_precision g) (fun t a => lap_gain (g_eps g) (IZR t / IZR (unit (g_precision g))) a)
    (fun t => lap_slope (g_eps g) (IZR t / IZR (unit (g_precision g)))) HW (fun t a b => lap_gain_linear _ _ _ _) (fun t => lap_slope_ge0 _ _) (fun t => lap_gain_most _ _)
    (fun a t d => dot_laplace_ok g HW Ht Hd a t d) _ _ _ _ _ _ BG) as [N [M E]].
  split; [auto|split; [exact (proj1 (proj2 S2))|auto]]. Qed.

(* ---------- discrete noise ---------- *)
Definition covers_discrete_below (g : guaranteed_step) (h_num h_den B : Z) (v : ilaw) : bool :=
  match g_source g with
  | Whole _ _ reach ts => sound_guarantee g && (g_q_num g =? g_q_den g)%Z &&
      let c := window_for g in below_grid (dot_discrete (g_precision g) (Z.to_nat reach) c) (g_precision g) (g_terms g) ts h_num h_den B v
  | _ => false
  end.
Theorem covers_discrete_below_ok g h_num h_den B v : covers_discrete_below g h_num h_den B v = true ->
  let L := law_of (IZR h_num / IZR h_den) (IZR (2 ^ B)) v in
  exists square D reach ts, g_source g = Whole square D reach ts /\ 0 < g_eps g /\ (0 <= D)%Z /\ nonneg L /\ tot L <= 1 /\
  forall e, delta e L <= 0 \/ exists t, In t ts /\ delta e L <= discrete_gain square (g_eps g) D t (exp e).
Proof. unfold covers_discrete_below. destruct (g_source g) as [| | |sq D n ts] eqn:SE; try discriminate. intros T. apply andb_prop in T as [T BG]. apply andb_prop in T as [SG _].
  destruct (sound_guarantee_ok g SG) as [[HW [_ [_ [Hd [_ [_ Ht]]]]]] [_ [_ [_ S2]]]]. rewrite SE in S2. destruct S2 as [R D0]. destruct (reach_ok g SG _ _ _ _ SE) as [HN HD].
  unfold window_for in BG. rewrite SE in BG. cbv zeta in BG. set (c := window_of _ _ _ _ _ _ _) in BG. set (ev := fun t k => summed (fun j => up_to t j * discrete sq (g_eps g) k j)).
  assert (LI : forall t a b, discrete_gain sq (g_eps g) D t b = discrete_gain sq (g_eps g) D t a - (b - a) * ev t D) by (intros; unfold discrete_gain; fold (ev t D); ring).
  assert (EV : forall t k, 0 <= ev t k <= 1) by (intros; now apply event_range).
  assert (MO : forall t, discrete_gain sq (g_eps g) D t 0 <= 1) by (intros; unfold discrete_gain; rewrite Rmult_0_l, Rminus_0_r; apply (EV t 0%Z)).
  assert (DO := dot_discrete_ok (g_precision g) sq (g_eps_num g) (g_eps_den g) (g_terms g) D (Z.to_nat n) HW HN Hd Ht ltac:(lia)).
  destruct (below_grid_ok _ (g_precision g) (discrete_gain sq (g_eps g) D) (fun t => ev t D) HW LI (fun t => proj1 (EV t D)) MO (fun a t d => DO a t d) _ _ _ _ _ _ BG) as [N [M E]].
  exists sq, D, n, ts. do 5 (split; [assumption || reflexivity|]). exact E. Qed.

(* ---------- one step, by one event ---------- *)
(* for Laplace noise the best one; for discrete noise the first test *)
Definition event_place (g : guaranteed_step) (b : problem) : Z :=
  ((eps_num b * g_eps_den g + g_eps_num g * eps_den b) * unit (g_precision g) / (2 * eps_den b * g_eps_den g))%Z.
Definition by_noise (g : guaranteed_step) (b : problem) : bool :=
  let W := g_precision g in let a := snd (expo W (g_terms g) (quotient_range W (eps_num b) (eps_den b))) in let d := ceiling (bound b * unit W) (2 ^ bits b) in
  sound_guarantee g && (0 <=? eps_num b)%Z && (0 <? eps_den b)%Z && (0 <? bits b)%Z && (g_q_num g =? g_q_den g)%Z &&
  match direction b, g_source g with
  | Below, Laplace_noise => dot_laplace g a (event_place g b) d
  | Below, Whole _ _ reach (t :: _) => dot_discrete W (Z.to_nat reach) (window_for g) a t d
  | _, _ => false
  end.
Theorem by_noise_ok g b : by_noise g b = true -> direction b = Below /\ 0 <= g_eps g /\ match g_source g with
  | Laplace_noise => IZR (bound b) / unit_of b <= lap_gain (g_eps g) (IZR (event_place g b) / IZR (unit (g_precision g))) (exp (epsilon_of b))
  | Whole square D _ (t :: _) => 0 < g_eps g /\ IZR (bound b) / unit_of b <= discrete_gain square (g_eps g) D t (exp (epsilon_of b))
  | _ => False
  end.
Proof. unfold by_noise. cbv zeta. intros T. apply andb_prop in T as [T SC]. do 4 (apply andb_prop in T as [T ?]).
  repeat match goal with X : (_ <? _)%Z = true |- _ => apply Z.ltb_lt in X | X : (_ <=? _)%Z = true |- _ => apply Z.leb_le in X end.
  destruct (sound_guarantee_ok g T) as [[HW [_ [_ [Hd [_ [_ Ht]]]]]] [_ [He [_ S2]]]]. destruct (direction b); [discriminate|]. split; [auto|split; [auto|]].
  assert (SR := unit_gt0 _ HW). set (W := g_precision g) in *. set (s := IZR (unit W)) in *. assert (US : IZR (2 ^ W) = s) by exact (unit_pow _).
  destruct (expo_ok W HW (g_terms g) (quotient_range W (eps_num b) (eps_den b)) (epsilon_of b) Ht
    (quotient_range_ok W HW (eps_num b) (eps_den b) ltac:(auto) ltac:(auto))) as [[_ [_ A]] _]. rewrite US in A. set (a := snd _) in *. assert (X := exp_pos (epsilon_of b)).
  assert (A0 : (0 <= a)%Z) by (apply le_IZR; nra). assert (BP : (0 < 2 ^ bits b)%Z) by (apply Z.pow_pos_nonneg; lia).
  assert (DB : IZR (bound b) / unit_of b <= IZR (ceiling (bound b * unit W) (2 ^ bits b)) / s).
  { apply (Rmult_le_reg_r s); auto. unfold Rdiv at 2. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. eapply Rle_trans; [|now apply ceiling_ge].
    right. unfold unit_of. rewrite mult_IZR. fold s. apply IZR_lt in BP. field. lra. }
  assert (AE : exp (epsilon_of b) <= IZR a / s) by (apply (Rmult_le_reg_r s); auto; unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra).
  destruct (g_source g) as [| | |sq D n [|t ts]] eqn:SE; try discriminate.
  - eapply Rle_trans; [exact DB|]. eapply Rle_trans; [exact (dot_laplace_ok g HW Ht Hd a _ _ A0 SC)|]. fold W s.
    rewrite (lap_gain_linear _ _ (exp (epsilon_of b)) (IZR a / s)). assert (L := lap_slope_ge0 (g_eps g) (IZR (event_place g b) / s)).
    assert (0 <= (IZR a / s - exp (epsilon_of b)) * lap_slope (g_eps g) (IZR (event_place g b) / s)) by (apply Rmult_le_pos; lra). lra.
  - destruct S2 as [R D0]. destruct (reach_ok g T _ _ _ _ SE) as [HN HD]. split; auto. unfold window_for in SC. rewrite SE in SC.
    eapply Rle_trans; [exact DB|]. eapply Rle_trans; [exact (dot_discrete_ok W sq (g_eps_num g) (g_eps_den g) (g_terms g) D (Z.to_nat n) HW HN Hd Ht ltac:(lia) a t _ A0 SC)|].
    fold s. assert (L := event_range sq (g_eps g) R t D). unfold discrete_gain. fold (g_eps g).
    set (v := summed (fun k => up_to t k * discrete sq (g_eps g) D k)) in *. assert (exp (epsilon_of b) * v <= IZR a / s * v) by (apply Rmult_le_compat_r; lra). lra. Qed.
