(* 17b. Finitely many outputs of stated probabilities: what the program says of them, to the mechanism and from below.

   `outputs_pair` (Mixed.v) says that two laws of outputs of any kind are as far apart as two stated ones, or less; with it
   guarantees_private and mixed_private bound such steps from above, alone or beside others, sampled or not.
     outputs_exact: the stated laws themselves, under any names of the outputs;
     response_exact: one answer of c, the true one with weight a and each other one with weight b;
     response_pure: the same with odds e^e, as an (e, 0)-private step;
     discrete_laplace_pure: whole numbers as outputs, whose noise is discrete Laplace: (eps, 0)-private;
     outputs_expect, counts_expect: with finitely many outputs, or whole numbers, every test has a mean;
     outputs_not_private: one step from below, sampled or not: data sets and an event;
     response_not_private: the same of answers to two questions;
     guarantee_not_private: one step of which (e, d)-privacy is stated: outputs that have it, and an event;
     laplace_event_not_private, discrete_event_not_private: one step of noise, and an event. *)
From Coquelicot Require Import Coquelicot.
Require Import Reals ZArith List Lra Lia Bool Permutation.
From VerifiedDP Require Import Law HockeyStick RandomizedResponse Kronecker Checker Link Integral Normal SampledGaussian Discrete Guaranteed Laplace Zcdp Extract Mechanism Mixed Refuted LaplaceRefuted.
Import ListNotations.
Open Scope R_scope.

(* ---------- the stated laws ---------- *)
Lemma S_permutation {T} (f : T -> R) l m : Permutation l m -> S f l = S f m.
Proof. intros H. induction H; simpl; lra. Qed.
(* outputs of a list, of which `name` is a numbering *)
Theorem outputs_exact {T} (l : list T) (name : T -> nat) ps qs : shares ps -> shares qs -> length ps = length qs ->
  Permutation (map name l) (seq 0 (length ps)) -> outputs_pair (sums l) ps qs (fun x => share ps (name x)) (fun x => share qs (name x)).
Proof. intros SP SQ L N. assert (K : forall f, S (fun x => f (name x)) l = S f (seq 0 (length ps))).
  { intros f. rewrite <- (S_permutation f _ _ N). now rewrite S_map. }
  split; [intros; now apply share_ge0|]. split; [intros; now apply share_ge0|]. split; [cbn; rewrite K; now apply share_sum|].
  split; [cbn; rewrite K, L; now apply share_sum|]. intros a. split; apply upto_int; cbn.
  - exact (K (fun i => pos (share ps i - a * share qs i))).
  - rewrite (K (fun i => pos (share qs i - a * share ps i))). unfold apart. now rewrite L. Qed.
Lemma seq_named n : Permutation (map (fun x : nat => x) (seq 0 n)) (seq 0 n).
Proof. rewrite map_id. apply Permutation_refl. Qed.
(* With finitely many outputs every test has a mean. *)
Theorem outputs_expect {T} (l : list T) D test k h : expect (sums l) D test k h (mean l D test k h).
Proof. revert h. induction k as [|k IH]; intros h; cbn [expect mean]; auto. exists (fun x => mean l D test k (x :: h)). split; [auto|reflexivity]. Qed.

(* ---------- randomised response ---------- *)
Section Response.
Variables (a b : R) (c : nat).
(* the weight of the answer x to the question i, among c answers *)
Definition answer (i x : nat) : R := (if Nat.eqb x i then a else b) / (a + (INR c - 1) * b).
Lemma S_none {T} (f : T -> R) l : (forall x, In x l -> f x = 0) -> S f l = 0.
Proof. intros H. induction l as [|x l IH]; cbn [S]; auto. rewrite H by now left. rewrite IH; [ring|]. intros y Hy. apply H. now right. Qed.
Lemma S_one i (v : R) l : NoDup l -> In i l -> S (fun x => if Nat.eqb x i then v else 0) l = v.
Proof. intros N. induction N as [|x l Hx N IH]; intros []; cbn [S].
  - subst x. rewrite Nat.eqb_refl, S_none; [ring|]. intros y Hy. destruct (Nat.eqb_spec y i) as [->|E]; [easy|auto].
  - destruct (Nat.eqb_spec x i) as [->|E]; [easy|]. rewrite IH by auto. ring. Qed.
Lemma S_const {T} (v : R) (l : list T) : S (fun _ => v) l = INR (length l) * v.
Proof. induction l as [|x l IH]; [simpl; ring|]. cbn [S]. rewrite IH. change (length (x :: l)) with (Datatypes.S (length l)). rewrite S_INR. ring. Qed.
(* a function of an answer that only tells two questions apart *)
Lemma S_answers (i j : nat) (x y z : R) : (i < c)%nat -> (j < c)%nat -> i <> j ->
  S (fun k => if Nat.eqb k i then x else if Nat.eqb k j then y else z) (seq 0 c) = x + y + (INR c - 2) * z.
Proof. intros I J D. rewrite (S_ext _ (fun k => z + ((if Nat.eqb k i then x - z else 0) + (if Nat.eqb k j then y - z else 0)))).
  - rewrite !S_plus, S_const, seq_length, !S_one; [ring|apply seq_NoDup|apply in_seq; lia|apply seq_NoDup|apply in_seq; lia].
  - intros k. destruct (Nat.eqb_spec k i) as [->|E]; [|destruct (Nat.eqb k j); ring]. destruct (Nat.eqb_spec i j); [easy|ring]. Qed.
Hypothesis a0 : 0 <= a.
Hypothesis b0 : 0 <= b.
Hypothesis c2 : (2 <= c)%nat.
Hypothesis some : 0 < a + (INR c - 1) * b.
Lemma answer_ge0 i x : 0 <= answer i x.
Proof. apply Rmult_le_pos; [destruct (Nat.eqb x i); auto|left; now apply Rinv_0_lt_compat]. Qed.
Lemma answer_sum i : (i < c)%nat -> S (answer i) (seq 0 c) = 1.
Proof. intros I. unfold answer. set (n := a + (INR c - 1) * b) in *. destruct (Nat.eq_dec i 0) as [->|N].
  - rewrite (S_ext _ (fun x => if Nat.eqb x 0 then a / n else if Nat.eqb x 1 then b / n else b / n)).
    + rewrite S_answers by lia. unfold n. field. fold n; lra.
    + intros x. destruct (Nat.eqb x 0), (Nat.eqb x 1); auto.
  - rewrite (S_ext _ (fun x => if Nat.eqb x i then a / n else if Nat.eqb x 0 then b / n else b / n)).
    + rewrite S_answers by lia. unfold n. field. fold n; lra.
    + intros x. destruct (Nat.eqb x i), (Nat.eqb x 0); auto. Qed.
Lemma answer_apart i j e : (i < c)%nat -> (j < c)%nat -> i <> j ->
  S (fun x => pos (answer i x - e * answer j x)) (seq 0 c) =
  let n := a + (INR c - 1) * b in pos (a / n - e * (b / n)) + pos (b / n - e * (a / n)) + (INR c - 2) * pos (b / n - e * (b / n)).
Proof. intros I J D. cbv zeta. set (n := a + (INR c - 1) * b). rewrite <- S_answers with (i := i) (j := j) by auto. apply S_ext. intros x. unfold answer. fold n.
  destruct (Nat.eqb_spec x i) as [->|E]; [destruct (Nat.eqb_spec i j); [easy|auto]|destruct (Nat.eqb x j); auto]. Qed.
End Response.
(* the same law on both data sets *)
Lemma apart_same ps qs a : shares ps -> shares qs -> length ps = length qs -> pos (1 - a) <= apart ps qs a.
Proof. intros SP SQ L. unfold apart. eapply Rle_trans; [|apply S_pos]. apply pos_le. right.
  rewrite (S_ext _ (fun i => share ps i + - a * share qs i)) by (intros; ring). rewrite S_plus, S_scal, share_sum by auto. rewrite L, share_sum by auto. ring. Qed.
Lemma outputs_same {T} (A : integral T) ps qs P : shares ps -> shares qs -> length ps = length qs -> (forall y, 0 <= P y) -> is_int A P 1 -> outputs_pair A ps qs P P.
Proof. intros SP SQ L P0 P1. assert (K : forall ps qs a, shares ps -> shares qs -> length ps = length qs -> upto A (fun y => pos (P y - a * P y)) (apart ps qs a)).
  { intros ps' qs' a SP' SQ' L'. apply (upto_le A _ (fun y => pos (1 - a) * P y) (pos (1 - a) * 1)).
    - intros y. right. rewrite (Rmult_comm (pos _)), pos_scal by auto. f_equal. ring.
    - rewrite Rmult_1_r. now apply apart_same.
    - apply upto_scal; [apply pos_ge0|now apply upto_int]. }
  split; [auto|split; [auto|split; [auto|split; [auto|]]]]. intros a. split; apply K; auto. Qed.
(* A true answer has weight a, each of the others b; the others together are one output of the problem, or none. *)
Section Exact.
Variables (a b : Z) (c : nat) (rest : list Z).
Hypothesis a0 : (0 <= a)%Z.
Hypothesis b0 : (0 <= b)%Z.
Hypothesis c2 : (2 <= c)%nat.
Hypothesis some : (0 < a + (Z.of_nat c - 1) * b)%Z.
Hypothesis others : rest = [((Z.of_nat c - 2) * b)%Z] \/ rest = [] /\ ((Z.of_nat c - 2) * b = 0)%Z.
Let ps := a :: rest ++ [b].
Let qs := b :: rest ++ [a].
Let P (i : nat) := answer (IZR a) (IZR b) c i.
Lemma response_shares : shares ps /\ shares qs /\ length ps = length qs /\ sumv ps = (a + (Z.of_nat c - 1) * b)%Z /\ sumv qs = (a + (Z.of_nat c - 1) * b)%Z.
Proof. assert (R0 : (0 <= (Z.of_nat c - 2) * b)%Z) by nia. unfold ps, qs, shares. destruct others as [->|[-> Z]]; cbn [app sumv length];
    (split; [split; [repeat constructor; auto|lia]|]); (split; [split; [repeat constructor; auto|lia]|]); repeat split; lia. Qed.
Lemma response_apart i j e : (i < c)%nat -> (j < c)%nat -> i <> j -> S (fun x => pos (P i x - e * P j x)) (seq 0 c) = apart ps qs e
  /\ apart qs ps e = apart ps qs e.
Proof. intros I J D. destruct response_shares as [_ [_ [L [S1 S2]]]]. assert (CR : INR c = IZR (Z.of_nat c)) by apply INR_IZR_INZ.
  assert (NR : 0 < IZR a + (INR c - 1) * IZR b). { assert (N := IZR_lt _ _ some). rewrite plus_IZR, mult_IZR, minus_IZR, <- CR in N. exact N. }
  assert (AR := IZR_le _ _ a0). assert (BR := IZR_le _ _ b0). set (n := IZR a + (INR c - 1) * IZR b) in *.
  assert (NE : IZR (a + (Z.of_nat c - 1) * b) = n) by (rewrite plus_IZR, mult_IZR, minus_IZR, <- CR; reflexivity).
  assert (C2 : 0 <= INR c - 2). { assert (C0 := le_INR _ _ c2). replace (INR 2) with 2 in C0 by (simpl; ring). lra. }
  assert (RE : IZR ((Z.of_nat c - 2) * b) = (INR c - 2) * IZR b) by (rewrite mult_IZR, minus_IZR, <- CR; reflexivity).
  assert (K : S (fun x => pos (P i x - e * P j x)) (seq 0 c) =
    pos (IZR a / n - e * (IZR b / n)) + pos (IZR b / n - e * (IZR a / n)) + pos (IZR ((Z.of_nat c - 2) * b) / n - e * (IZR ((Z.of_nat c - 2) * b) / n))).
  { unfold P. rewrite answer_apart by auto. cbv zeta. fold n. f_equal. rewrite RE, pos_scal by auto. apply f_equal. unfold Rdiv; ring. }
  assert (PS : IZR (sumv ps) = n) by (rewrite S1; exact NE). assert (QS : IZR (sumv qs) = n) by (rewrite S2; exact NE).
  rewrite K. unfold apart, share. rewrite PS, QS. rewrite <- L. unfold ps, qs. destruct others as [->|[-> Z]]; cbn [app length seq S nth].
  - split; ring.
  - rewrite Z. unfold Rdiv. rewrite Rmult_0_l, Rmult_0_r, Rminus_0_r, (pos_of_pos 0) by lra. split; ring. Qed.
Lemma answers_ge0 i x : 0 <= P i x.
Proof. apply answer_ge0; try (apply IZR_le; auto). assert (N := IZR_lt _ _ some). rewrite plus_IZR, mult_IZR, minus_IZR, <- INR_IZR_INZ in N. exact N. Qed.
Lemma answers_sum i : (i < c)%nat -> S (P i) (seq 0 c) = 1.
Proof. intros I. apply answer_sum; auto. assert (N := IZR_lt _ _ some). rewrite plus_IZR, mult_IZR, minus_IZR, <- INR_IZR_INZ in N. exact N. Qed.
Theorem response_exact i j : (i < c)%nat -> (j < c)%nat -> outputs_pair (sums (seq 0 c)) ps qs (P i) (P j).
Proof. intros I J. destruct response_shares as [SP [SQ [L _]]]. destruct (Nat.eq_dec i j) as [->|D].
  - apply outputs_same; auto; [apply answers_ge0|now apply answers_sum].
  - split; [apply answers_ge0|]. split; [apply answers_ge0|]. split; [now apply answers_sum|]. split; [now apply answers_sum|].
    intros e. split; apply upto_int; cbn [is_int sums].
    + now apply response_apart.
    + rewrite (proj2 (response_apart i j e I J D)). apply response_apart; auto. Qed.
End Exact.
(* odds e^e : 1 against each other answer *)
Theorem response_pure e c i j : 0 <= e -> (2 <= c)%nat -> (i < c)%nat -> (j < c)%nat ->
  private_pair (sums (seq 0 c)) e 0 (answer (exp e) 1 c i) (answer (exp e) 1 c j).
Proof. intros He C0 I J. assert (E1 : 1 <= exp e) by (rewrite <- exp_0; now apply exp_le). assert (CR : 2 <= INR c) by (apply le_INR in C0; replace (INR 2) with 2 in C0 by (simpl; ring); auto).
  assert (N : 0 < exp e + (INR c - 1) * 1) by lra. assert (V := Rinv_0_lt_compat _ N).
  assert (K : forall i j x, answer (exp e) 1 c i x <= exp e * answer (exp e) 1 c j x).
  { intros i' j' x. unfold answer, Rdiv. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [lra|].
    assert (exp e * 1 <= exp e * exp e) by (apply Rmult_le_compat_l; lra). destruct (Nat.eqb x i'), (Nat.eqb x j'); lra. }
  apply bounded_ratio; auto; try (intros; apply answer_ge0; lra); try (apply answer_sum; auto; lra). Qed.

(* ---------- one step from below ---------- *)
(* a mechanism that shows only whether it ran on anything *)
Definition shown {X T} (P Q : T -> R) (batch : list X) : T -> R := match batch with [] => Q | _ => P end.
Section Below.
Context {T : Type} (l : list T) (P Q : T -> R) (q : R).
Hypothesis P0 : forall x, 0 <= P x.
Hypothesis Q0 : forall x, 0 <= Q x.
Hypothesis Hq : 0 < q <= 1.
Definition with_record (o : order) := sampled q (shown P Q) (match o with Remove => [tt] | Add => [] end).
Definition without_record (o : order) := sampled q (shown P Q) (match o with Remove => [] | Add => [tt] end).
Lemma shown_sampled y : sampled q (shown P Q) [tt] y = mix q P Q y /\ sampled q (shown P Q) (@nil unit) y = Q y.
Proof. unfold sampled, mix. cbn. split; ring. Qed.
Lemma shown_event c eps o : (forall a, S (fun x => pos (P x - a * Q x)) l = c Remove a) -> (forall a, S (fun x => pos (Q x - a * P x)) l = c Add a) ->
  exists test u v, (forall outputs, test outputs = 0 \/ test outputs = 1) /\
  expect (sums l) (fun _ => with_record o) test 1 [] u /\ expect (sums l) (fun _ => without_record o) test 1 [] v /\
  u - exp eps * v = match o with Remove => remove_curve q (c Remove) | Add => add_curve q (c Add) end (exp eps).
Proof. intros H1 H2. set (f := with_record o). set (g := without_record o). set (ev := HockeyStick.best f g eps).
  exists (fun h => match h with x :: _ => if ev x then 1 else 0 | [] => 0 end), (prob f ev l), (prob g ev l).
  split; [intros [|x h]; auto; destruct (ev x); auto|].
  assert (EX : forall D, expect (sums l) (fun _ => D) (fun h : list T => match h with x :: _ => if ev x then 1 else 0 | [] => 0 end) 1 [] (prob D ev l)).
  { intros D. exists (fun x => if ev x then 1 else 0). split; [intros x; reflexivity|]. cbn. apply S_ext. intros x. destruct (ev x); ring. }
  split; [apply EX|split; [apply EX|]]. unfold ev. rewrite HS_attained. unfold HS, f, g, with_record, without_record.
  destruct o; (rewrite (S_ext _ _ l (fun x => f_equal2 (fun u v => pos (u - exp eps * v)) (proj1 (shown_sampled x)) (proj2 (shown_sampled x)))) ||
    rewrite (S_ext _ _ l (fun x => f_equal2 (fun u v => pos (u - exp eps * v)) (proj2 (shown_sampled x)) (proj1 (shown_sampled x))))).
  - exact (remove_int (sums l) P Q (c Remove) q Hq (exp eps) H1).
  - exact (add_int (sums l) P Q (c Add) q P0 Q0 Hq (exp eps) ltac:(left; apply exp_pos) H2). Qed.
End Below.
Section Refuted.
Variables (p : problem) (g : guaranteed_step).
Hypothesis judged : judge (Some (g_order g)) p [Some (Guarantee g)] = true.
Hypothesis one_step : kinds p = [].
Let o := g_order g.
Lemma judged_point : match g_source g with Any | Outputs _ _ => by_outputs g p | _ => by_noise g p end = true.
Proof. assert (J := judged). unfold judge in J. rewrite one_step in J. apply andb_prop in J as [_ J]. apply orb_prop in J.
  destruct J as [J|J]; destruct (g_source g) as [| | |sq D n ts] eqn:GS; auto; exfalso; unfold by_outputs, by_noise in J; rewrite GS in J; try discriminate;
    apply andb_prop in J as [_ J]; destruct (direction p); discriminate. Qed.
(* The outputs have exactly the stated laws, on batches with a record and without. *)
Theorem outputs_not_private ps qs : g_source g = Outputs ps qs -> let l := seq 0 (length ps) in
  exists test u v, (forall outputs, test outputs = 0 \/ test outputs = 1) /\
  expect (sums l) (fun _ => with_record (share ps) (share qs) (g_q g) o) test 1 [] u /\
  expect (sums l) (fun _ => without_record (share ps) (share qs) (g_q g) o) test 1 [] v /\
  exp (epsilon_of p) * v + IZR (bound p) / unit_of p <= u.
Proof. intros GS l. assert (JP := judged_point). rewrite GS in JP. destruct (by_outputs_ok g p ps qs JP GS) as [HS [Hq K]]. rewrite GS in *. destruct HS as [SP [SQ L]].
  assert (P0 := fun i => share_ge0 ps i SP). assert (Q0 := fun i => share_ge0 qs i SQ).
  destruct (shown_event l (share ps) (share qs) (g_q g) P0 Q0 Hq (fun o => match o with Remove => apart ps qs | Add => apart qs ps end) (epsilon_of p) o) as [test [u [v [E [U [V W]]]]]].
  - intros a. reflexivity.
  - intros a. unfold apart, l. now rewrite L.
  - exists test, u, v. split; [auto|split; [auto|split; [auto|]]]. fold o in K. destruct o; cbn [guaranteed base] in K; cbv beta iota in W; lra. Qed.
(* The answers to two questions. *)
Theorem response_not_private a b c rest i j : (0 <= a)%Z -> (0 <= b)%Z -> (2 <= c)%nat -> (0 < a + (Z.of_nat c - 1) * b)%Z ->
  rest = [((Z.of_nat c - 2) * b)%Z] \/ rest = [] /\ ((Z.of_nat c - 2) * b = 0)%Z -> (i < c)%nat -> (j < c)%nat -> i <> j ->
  g_source g = Outputs (a :: rest ++ [b]) (b :: rest ++ [a]) -> g_q g = 1 -> let l := seq 0 c in
  exists test u v, (forall outputs, test outputs = 0 \/ test outputs = 1) /\
  expect (sums l) (fun _ => answer (IZR a) (IZR b) c i) test 1 [] u /\ expect (sums l) (fun _ => answer (IZR a) (IZR b) c j) test 1 [] v /\
  exp (epsilon_of p) * v + IZR (bound p) / unit_of p <= u.
Proof. intros A B C2 N OT I J D GS Q1 l. assert (JP := judged_point). rewrite GS in JP. destruct (by_outputs_ok g p _ _ JP GS) as [_ [_ K]]. rewrite GS, Q1 in *.
  rewrite guaranteed_one in K. set (P := answer (IZR a) (IZR b) c i). set (Q := answer (IZR a) (IZR b) c j). set (ev := HockeyStick.best P Q (epsilon_of p)).
  exists (fun h => match h with x :: _ => if ev x then 1 else 0 | [] => 0 end), (prob P ev l), (prob Q ev l).
  assert (EX : forall D, expect (sums l) (fun _ => D) (fun h : list nat => match h with x :: _ => if ev x then 1 else 0 | [] => 0 end) 1 [] (prob D ev l)).
  { intros D'. exists (fun x => if ev x then 1 else 0). split; [intros x; reflexivity|]. cbn [is_int sums]. apply S_ext. intros x. destruct (ev x); ring. }
  split; [intros [|x h]; auto; destruct (ev x); auto|split; [apply EX|split; [apply EX|]]].
  assert (R := HS_attained P Q (epsilon_of p) l). fold ev in R. unfold HS in R.
  destruct (response_apart a b c rest A B C2 N OT i j (exp (epsilon_of p)) I J D) as [R1 R2]. fold P Q l in R1. rewrite R1 in R. 
  destruct (g_order g); cbn [base] in K; rewrite ?R2 in K; lra. Qed.
(* Of an (e, d)-private step: by truthful answers of odds e^e : 1 with a leak, which are such a step. *)
Theorem guarantee_not_private : g_source g = Any -> let P := mP (g_eps g) (g_delta g) in let Q := mQ (g_eps g) (g_delta g) in exists test u v,
  private_pair (sums outcomes) (g_eps g) (g_delta g) P Q /\ (forall outputs, test outputs = 0 \/ test outputs = 1) /\
  expect (sums outcomes) (fun _ => P) test 1 [] u /\ expect (sums outcomes) (fun _ => Q) test 1 [] v /\
  exp (epsilon_of p) * v + IZR (bound p) / unit_of p <= u.
Proof. intros GS. assert (JP := judged_point). rewrite GS in JP. destruct (by_worst_ok g p JP GS) as [_ [He [Hd [_ K]]]]. set (e := g_eps g) in *. set (d := g_delta g) in *.
  intros P Q. assert (P0 : forall x, 0 <= P x) by (intros; now apply mP_ge0). assert (Q0 : forall x, 0 <= Q x) by (intros; now apply mQ_ge0).
  set (ev := HockeyStick.best P Q (epsilon_of p)).
  exists (fun h => match h with x :: _ => if ev x then 1 else 0 | [] => 0 end), (prob P ev outcomes), (prob Q ev outcomes).
  assert (EX : forall D, expect (sums outcomes) (fun _ => D) (fun h : list outcome => match h with x :: _ => if ev x then 1 else 0 | [] => 0 end) 1 [] (prob D ev outcomes)).
  { intros D. exists (fun x => if ev x then 1 else 0). split; [intros x; reflexivity|]. cbn [is_int sums]. apply S_ext. intros x. destruct (ev x); ring. }
  assert (WE := worst_end e d He Hd (exp e) (Rle_refl _)).
  split; [|split; [intros [|x h]; auto; destruct (ev x); auto|split; [apply EX|split; [apply EX|]]]].
  - split; [auto|split; [auto|split; [|split; [|split]]]].
    + cbn. unfold P, outcomes; cbn [S mP]. ring.
    + cbn. unfold Q, outcomes; cbn [S mQ]. ring.
    + apply (upto_le _ _ (fun x => pos (P x - exp e * Q x)) (worst e d (exp e))); [intros; apply Rle_refl|exact WE|]. apply upto_int. reflexivity.
    + apply (upto_le _ _ (fun x => pos (Q x - exp e * P x)) (worst e d (exp e))); [intros; apply Rle_refl|exact WE|]. apply upto_int. apply worst_swapped.
  - assert (A := HS_attained P Q (epsilon_of p) outcomes). fold ev in A. unfold worst in K. unfold HS in A. unfold P, Q in *. lra. Qed.
(* One step of noise: on numbers as far apart as is stated. *)
Theorem laplace_event_not_private b : 0 < b -> g_source g = Laplace_noise -> exists test u v, (forall outputs, test outputs = 0 \/ test outputs = 1) /\
  expect line (fun _ => laplace b (g_eps g * b)) test 1 [] u /\ expect line (fun _ => laplace b 0) test 1 [] v /\ exp (epsilon_of p) * v + IZR (bound p) / unit_of p <= u.
Proof. intros Hb GS. assert (JP := judged_point). rewrite GS in JP. destruct (by_noise_ok g p JP) as [_ [He K]]. rewrite GS in K. set (r := g_eps g) in *. set (t := IZR (event_place g p) / IZR (Enclosures.unit (g_precision g))) in K.
  set (P := laplace b (r * b)). set (Q := laplace b 0). assert (PS : forall y, P y = / b * lap_std ((y - 0) / b - r)) by exact (laplace_scaled b Hb r true).
  assert (QS : forall y, Q y = / b * lap_std ((y - 0) / b - 0)) by exact (laplace_scaled b Hb r false). assert (V := Rinv_0_lt_compat _ Hb).
  assert (NP : nice line P).
  { split; [intros y; rewrite PS; apply Rmult_le_pos; [lra|apply lap_std_ge0]|]. exists 1. eapply line_ext; [|exact (rescaled (fun x => lap_std (x - r)) b 0 1 Hb (lap_line r))]. intros y. now rewrite PS. }
  assert (NQ : nice line Q).
  { split; [intros y; rewrite QS; apply Rmult_le_pos; [lra|apply lap_std_ge0]|]. exists 1. eapply line_ext; [|exact (rescaled (fun x => lap_std (x - 0)) b 0 1 Hb (lap_line 0))]. intros y. now rewrite QS. }
  set (yes := if Rlt_dec t 0 then true else if Rle_dec t r then true else false). set (no := if Rlt_dec t 0 then true else false).
  destruct (one_event line P Q (past (b * t)) yes no (exp (epsilon_of p)) (lap_gain r t (exp (epsilon_of p)))) as [test [u [v [T [U [W E]]]]]]; auto.
  - assert (L := line_cuts [b * t]). now inversion L.
  - eapply line_ext; [|exact (rescaled _ b 0 _ Hb (lap_gain_int r t (exp (epsilon_of p))))]. intros y. cbv beta. rewrite PS, QS.
    assert (EV : past (b * t) y = past t ((y - 0) / b)).
    { assert (X : b * ((y - 0) / b) = y) by (field; lra). unfold past. destruct (Rlt_dec (b * t) y), (Rlt_dec t ((y - 0) / b)); auto; exfalso; nra. }
    rewrite EV. unfold lap_event, yes, no, past, beyond. destruct (Rlt_dec t 0), (Rle_dec t r), (Rlt_dec t ((y - 0) / b)); ring.
  - exists test, u, v. repeat (split; [assumption|]). lra. Qed.
Theorem discrete_event_not_private square D n ts : g_source g = Whole square D n ts -> exists test u v, (forall outputs, test outputs = 0 \/ test outputs = 1) /\
  expect counts (fun _ => discrete square (g_eps g) 0) test 1 [] u /\ expect counts (fun _ => discrete square (g_eps g) D) test 1 [] v /\ exp (epsilon_of p) * v + IZR (bound p) / unit_of p <= u.
Proof. intros GS. assert (JP := judged_point). rewrite GS in JP. destruct (by_noise_ok g p JP) as [_ [He K]]. rewrite GS in K. destruct ts as [|t ts]; [easy|]. destruct K as [R K].
  assert (N : forall c, nice counts (discrete square (g_eps g) c)) by (intros c; split; [intros; now apply noise_ge0|exists 1; now apply noise_int]).
  destruct (one_event counts (discrete square (g_eps g) 0) (discrete square (g_eps g) D) (fun k => (k <=? t)%Z) true false (exp (epsilon_of p)) (discrete_gain square (g_eps g) D t (exp (epsilon_of p))))
    as [test [u [v [T [U [W E]]]]]]; auto using counts_cuts_well; [exact (discrete_gain_int square (g_eps g) R D t (exp (epsilon_of p)))|]. exists test, u, v. repeat (split; [assumption|]). lra. Qed.
End Refuted.

(* ---------- whole numbers as outputs ---------- *)
Theorem discrete_laplace_pure r c c' D : 0 < r -> (Z.abs (c - c') <= D)%Z -> private_pair counts (r * IZR D) 0 (discrete false r c) (discrete false r c').
Proof. intros R H. assert (K : forall c c' k, (Z.abs (c - c') <= D)%Z -> discrete false r c k <= exp (r * IZR D) * discrete false r c' k).
  { intros x y k L. assert (T := total_pos false r R). unfold discrete, Rdiv. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|].
    unfold weight. rewrite <- exp_plus. apply exp_le. assert (IZR (size false (k - y)) <= IZR (size false (k - x)) + IZR D) by (rewrite <- plus_IZR; apply IZR_le; cbn; lia). nra. }
  apply bounded_ratio; try (intros; now apply noise_ge0); try (now apply noise_int); intros k; apply K; lia. Qed.
(* Every test of whole numbers has a mean. *)
Fixpoint counts_mean (P : list Z -> Z -> R) (test : list Z -> R) (n : nat) (h : list Z) : R :=
  match n with O => test h | Datatypes.S n => summed (fun x => P h x * counts_mean P test n (x :: h)) end.
Theorem counts_expect P test : (forall h, 0 <= test h <= 1) -> (forall h k, 0 <= P h k) -> (forall h, is_int counts (P h) 1) ->
  forall n h, 0 <= counts_mean P test n h <= 1 /\ expect counts P test n h (counts_mean P test n h).
Proof. intros Ht P0 P1. induction n as [|n IH]; intros h; cbn [expect counts_mean]; [auto|]. set (F := fun x => counts_mean P test n (x :: h)).
  assert (B : forall k, 0 <= P h k * F k <= P h k) by (intros k; specialize (P0 h k); destruct (IH (k :: h)) as [B _]; fold (F k) in B; nra).
  destruct (counts_exists _ _ _ B (P1 h)) as [u U]. destruct (summed_int _ _ U) as [I E]. split; [|exists F; split; [intros x; apply IH|exact I]].
  split; [exact (int_ge0 counts _ _ (fun k => proj1 (B k)) I)|exact (int_le counts _ _ _ _ (fun k => proj2 (B k)) I (P1 h))]. Qed.
