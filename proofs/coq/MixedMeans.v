(* 18b. The means of which mixed_private and guarantees_private speak exist, for continuous tests.

   A step is `smooth` if the mean over its output of a continuous function is continuous in whatever that depends on: so is
   normal noise (int_cont), Laplace noise on a number (laplace_smooth), what runs on a random batch (smooth_sum), and one
   of two kinds of outputs (smooth_left, smooth_right).  Smooth steps one after the other have means (smooth_means). *)
From Coquelicot Require Import Coquelicot.
Require Import Reals ZArith List Lra Lia Bool Permutation.
From VerifiedDP Require Import Law HockeyStick Checker Link Integral Normal Space SampledGaussian Guaranteed Extract Mechanism Mixed Means.
Import ListNotations.
Open Scope R_scope.

Definition smooth {H T} (N : nearness H) (A : integral T) (K : nearness T) (E : H -> T -> R) := forall G : H * T -> R,
  cont (near_pair N K) near_R G -> (forall z, 0 <= G z <= 1) ->
  exists F, cont N near_R F /\ (forall h, 0 <= F h <= 1) /\ forall h, is_int A (fun y => E h y * G (h, y)) (F h).
(* ---------- all outputs ---------- *)
Section Steps.
Context {T : Type} (A : integral T) (K : nearness T) (D : list T -> T -> R).
Let N := near_list K.
Variable phi : list T -> R.
Hypothesis HP : cont N near_R phi.
Hypothesis phi01 : forall h, 0 <= phi h <= 1.
Definition smooth_at (n : nat) := exists E, smooth N A K E /\ forall h y, length h = n -> D h y = E h y.
Lemma next_cont F : cont N near_R F -> cont (near_pair N K) near_R (fun a => F (snd a :: fst a)).
Proof. intros C. apply (cont_comp _ N near_R (fun a => snd a :: fst a) F); auto. intros x e He. exists e; split; auto. intros y [Y1 Y2]. cbn. constructor; auto. Qed.
Lemma all_means k : forall n, (forall i, (n <= i < n + k)%nat -> smooth_at i) -> exists F, cont N near_R F /\ (forall h, 0 <= F h <= 1) /\
  forall h, length h = n -> expect A D phi k h (F h).
Proof. induction k as [|k IH]; intros n HM.
  - exists phi. repeat split; auto; apply phi01.
  - destruct (IH (Datatypes.S n)) as [F [F0 [F1 F2]]]; [intros; apply HM; lia|]. destruct (HM n ltac:(lia)) as [E [SM EQ]].
    destruct (SM (fun a => F (snd a :: fst a)) (next_cont F F0) ltac:(intros; apply F1)) as [F' [A0 [A1 A2]]]. exists F'. split; [auto|split; [auto|]].
    intros h L. exists (fun y => F (y :: h)). split; [intros y; apply F2; cbn [length]; lia|].
    eapply int_ext; [|apply (A2 h)]. intros y. cbn [fst snd]. now rewrite EQ. Qed.
Theorem smooth_means k : (forall i, (i < k)%nat -> smooth_at i) -> exists u, 0 <= u <= 1 /\ expect A D phi k [] u.
Proof. intros H. destruct (all_means k 0 ltac:(intros; apply H; lia)) as [F [_ [F1 F2]]]. exists (F []). split; [apply F1|exact (F2 [] eq_refl)]. Qed.
End Steps.

(* ---------- smooth steps ---------- *)
Section Smooth.
Context {H T : Type} (N : nearness H) (A : integral T) (K : nearness T).
Lemma smooth_sum {V} (bs : list (V * R)) (E : V -> H -> T -> R) : Forall (fun b => 0 <= snd b) bs -> S snd bs = 1 -> (forall b, smooth N A K (E b)) ->
  smooth N A K (fun h y => S (fun b => snd b * E (fst b) h y) bs).
Proof. intros W S1 SM G GC G01. rewrite <- S1. clear S1. induction W as [|[v w] bs W0 W [F [F0 [F1 F2]]]]; cbn [S fst snd] in *.
  - exists (fun _ => 0). split; [apply cont_const|]. split; [intros; lra|]. intros h. apply (int_ext A (fun _ => 0)); [intros; ring|apply int_zero].
  - destruct (SM v G GC G01) as [F' [A0 [A1 A2]]]. exists (fun h => w * F' h + F h). split; [now apply cont_plus; [apply cont_scal|]|]. split.
    + intros h. specialize (A1 h). specialize (F1 h). nra.
    + intros h. eapply int_ext; [|apply int_plus; [apply int_scal; apply (A2 h)|apply (F2 h)]]. intros y. cbn [fst snd]. ring. Qed.
Lemma smooth_sampled {X} q (M : H -> list X -> T -> R) D : 0 < q <= 1 -> (forall b, smooth N A K (fun h => M h b)) -> smooth N A K (fun h => sampled q (M h) D).
Proof. intros Hq SM. apply (smooth_sum (batches q D) (fun b h => M h b)); auto; [now apply batches_ge0|apply batches_tot]. Qed.
End Smooth.
Definition near_either {T U} (M : nearness T) (K : nearness U) : nearness (T + U).
Proof. refine {| near := fun e x y => match x, y with inl a, inl b => near M e a b | inr a, inr b => near K e a b | _, _ => False end |}.
  - intros e [a|b] He; now apply near_self.
  - intros d e [a|b] [a'|b'] L Z; auto; (eapply near_wider; [exact L|exact Z]). Defined.
Section Either.
Context {H T U : Type} (N : nearness H) (A : integral T) (B : integral U) (M : nearness T) (K : nearness U).
Let Q := near_pair N (near_either M K).
Lemma left_cont (G : H * (T + U) -> R) : cont Q near_R G -> cont (near_pair N M) near_R (fun a => G (fst a, inl (snd a))).
Proof. intros C. apply (cont_comp _ Q near_R (fun a => (fst a, inl (snd a))) G); auto. intros x e He. exists e; split; auto. Qed.
Lemma right_cont (G : H * (T + U) -> R) : cont Q near_R G -> cont (near_pair N K) near_R (fun a => G (fst a, inr (snd a))).
Proof. intros C. apply (cont_comp _ Q near_R (fun a => (fst a, inr (snd a))) G); auto. intros x e He. exists e; split; auto. Qed.
Lemma smooth_left E : smooth N A M E -> smooth N (either A B) (near_either M K) (fun h => on_left (E h)).
Proof. intros SM G GC G01. destruct (SM _ (left_cont G GC) ltac:(intros; apply G01)) as [F [F0 [F1 F2]]]. exists F. split; [auto|split; [auto|]].
  intros h. exists (F h), 0. split; [exact (F2 h)|split; [|ring]]. apply (int_ext B (fun _ => 0)); [intros; cbn [on_left]; ring|apply int_zero]. Qed.
Lemma smooth_right E : smooth N B K E -> smooth N (either A B) (near_either M K) (fun h => on_right (E h)).
Proof. intros SM G GC G01. destruct (SM _ (right_cont G GC) ltac:(intros; apply G01)) as [F [F0 [F1 F2]]]. exists F. split; [auto|split; [auto|]].
  intros h. exists 0, (F h). split; [|split; [exact (F2 h)|ring]]. apply (int_ext A (fun _ => 0)); [intros; cbn [on_right]; ring|apply int_zero]. Qed.
End Either.
Lemma normals_smooth {H d} (N : nearness H) sigma (c : H -> vec d) : 0 < sigma -> cont N (near_vec d) c -> smooth N (space d) (near_vec d) (fun h => normals sigma (c h)).
Proof. intros Hs HC G GC G01. destruct (int_cont d N sigma c (everything d) G Hs HC (everything_box d) GC G01) as [F [F0 [F1 F2]]]. exists F. split; [auto|split; [auto|]].
  intros h. eapply int_ext; [|apply (F2 h)]. intros y. cbv beta. now rewrite everything_inside, Rmult_1_l. Qed.
(* Laplace noise on a number *)
Lemma exp_abs_near x y : Rabs (exp (- Rabs y) - exp (- Rabs x)) <= 1 * Rabs (y - x).
Proof. assert (G : forall u v, 0 <= u <= v -> 0 <= exp (- u) - exp (- v) <= v - u).
  { intros a b [A B]. assert (X := exp_pos (- a)). assert (X1 : exp (- a) <= 1) by (rewrite <- exp_0; apply exp_le; lra).
    assert (E : exp (- b) = exp (- a) * exp (- (b - a))) by (rewrite <- exp_plus; f_equal; ring).
    assert (L := exp_ineq1_le (- (b - a))). assert (X2 : exp (- (b - a)) <= 1) by (rewrite <- exp_0; apply exp_le; lra). rewrite E. nra. }
  assert (AX := Rabs_pos x). assert (AY := Rabs_pos y). assert (T1 := Rabs_triang_inv2 y x). rewrite Rmult_1_l. eapply Rle_trans; [|exact T1].
  set (u := Rabs x) in *. set (v := Rabs y) in *. destruct (Rle_dec u v) as [Q|Q].
  - destruct (G u v ltac:(lra)). rewrite Rabs_left1, Rabs_pos_eq by lra. lra.
  - destruct (G v u ltac:(lra)). rewrite Rabs_pos_eq, Rabs_left1 by lra. lra. Qed.
Lemma laplace_smooth {H} (N : nearness H) b (c : H -> R) : 0 < b -> cont N near_R c -> smooth N line near_R (fun h => laplace b (c h)).
Proof. intros Hb HC G GC G01. assert (V := Rinv_0_lt_compat _ Hb). set (p := fun z x => laplace b (c z) x).
  assert (PC : cont (near_pair N near_R) near_R (fun zx => p (fst zx) (snd zx))).
  { unfold p, laplace. apply cont_scal. apply (cont_ext _ near_R (fun zx => / 2 * exp (- Rabs ((snd zx - c (fst zx)) / b)))); [intros; field|]. apply cont_scal.
    apply (cont_lip _ (fun zx => (snd zx - c (fst zx)) / b) (fun y => exp (- Rabs y)) 1); [lra|intros; apply exp_abs_near|].
    apply (cont_ext _ near_R (fun zx : H * R => / b * (snd zx + -1 * c (fst zx)))); [intros; field; lra|]. apply cont_scal, cont_plus; [apply cont_snd with (M := N), cont_id|].
    apply cont_scal. apply (cont_comp _ N near_R fst c); auto. apply cont_fst with (K := near_R), cont_id. }
  assert (PG : forall z x, 0 <= p z x) by (intros z x; unfold p, laplace; assert (X := exp_pos (- Rabs ((x - c z) / b))); apply Rmult_le_pos; lra).
  assert (PL : forall z, is_line (p z) 1).
  { intros z. unfold p. apply (rescaled (fun x => exp (- Rabs x) / 2)); auto. replace 1 with (/ 2 * 2) by field.
    apply (line_ext (fun x => / 2 * exp (- Rabs x))); [intros; field|]. apply line_scal, exp_abs_line. }
  exists (coordinate p (fun _ => 1) G). split; [now apply (coordinate_cont N p (fun _ => 1) G PG PL PC interval_line)|].
  split; [intros; now apply (coordinate_range N p (fun _ => 1) G PG PL PC interval_line)|].
  intros h. eapply line_ext; [|exact (coordinate_int N p (fun _ => 1) G PG PL PC interval_line GC G01 h)]. intros x. cbv beta. now rewrite Rmult_1_l. Qed.

(* ---------- the mechanisms of mixed_private ---------- *)
Section Mixed.
Context {X U : Type} {d : nat} (B : integral U) (K : nearness U).
Variables (query : list (vec d + U) -> list X -> vec d) (level : nat -> R) (other : list (vec d + U) -> list X -> U -> R) (plans : list stated).
Let N := near_list (near_either (near_vec d) K).
Hypothesis query_cont : forall b, cont N (near_vec d) (fun h => query h b).
Hypothesis noisy : forall i, 0 < level i.
Hypothesis others : forall b, smooth N B K (fun h => other h b).
Hypothesis rates : forall s, In s plans -> 0 < rate_of s <= 1.
(* the noise of a step is fixed in advance *)
Theorem mixed_means D phi : cont N near_R phi -> (forall h, 0 <= phi h <= 1) ->
  exists u, 0 <= u <= 1 /\ expect (either (space d) B) (mixed query (fun h => level (length h)) other plans D) phi (length plans) [] u.
Proof. intros HP P01. apply (smooth_means (either (space d) B) (near_either (near_vec d) K)); auto. intros i Hi.
  destruct (nth_error plans i) as [s|] eqn:E; [|apply nth_error_None in E; lia]. assert (Hq := rates s (nth_error_In _ _ E)).
  set (step := fun h batch => match s with Gaussian _ => on_left (normals (level i) (query h batch)) | _ => on_right (other h batch) end : vec d + U -> R).
  exists (fun h => sampled (rate_of s) (step h) D). split.
  - apply smooth_sampled; auto. intros b. unfold step. destruct s; try (apply smooth_right, others). apply smooth_left, normals_smooth; auto.
  - intros h y L. unfold mixed. rewrite L, E. unfold step_on, step. now rewrite L. Qed.
(* mixed_private without the hypothesis `expect`. *)
Theorem mixed_private_exists p ss o : direction p = Above -> kinds p <> [] -> judge (Some o) p (map Some ss) = true -> Permutation (steps_stated (kinds p) ss) plans ->
  (forall h, unit_change (query h)) -> (forall s, In s plans -> match s with Gaussian _ | Guarantee _ => True | _ => False end) ->
  (forall (h : list (vec d + U)) g, nth_error plans (length h) = Some (Gaussian g) -> sigma_of g <= level (length h)) ->
  (forall h g, nth_error plans (length h) = Some (Guarantee g) -> forall b x, meets B g (other h (x :: b)) (other h b)) ->
  forall (x : X) D phi, cont N near_R phi -> (forall h, 0 <= phi h <= 1) ->
  let M := mixed query (fun h => level (length h)) other plans in let E := expect (either (space d) B) in exists u v,
  E (M (match o with Remove => x :: D | Add => D end)) phi (length plans) [] u /\ E (M (match o with Remove => D | Add => x :: D end)) phi (length plans) [] v /\
  u <= exp (epsilon_of p) * v + IZR (bound p) / unit_of p.
Proof. intros Ab SK J Pl UC MV NE OM x D phi HP P01 M E. destruct (mixed_means (match o with Remove => x :: D | Add => D end) phi HP P01) as [u [_ U']].
  destruct (mixed_means (match o with Remove => D | Add => x :: D end) phi HP P01) as [v [_ V']]. exists u, v. split; [exact U'|]. split; [exact V'|].
  exact (mixed_private B query (fun h => level (length h)) other p ss plans o Ab SK J Pl UC MV NE OM x D phi u v P01 U' V'). Qed.
End Mixed.
