(* 6. Rational enclosures of e^-t, t >= 0, in integers.

   The Taylor sums of e^-t are alternately above and below it.  For t = p/q the n-th one is an exact fraction
   (`taylor`), so that `exp_below` and `exp_above` enclose 2^B e^-t between two integers. *)
Require Import Reals ZArith Lra Lia.
From Coquelicot Require Import Coquelicot.
Open Scope R_scope.

Fixpoint P (n : nat) (t : R) : R :=
  match n with O => 1 | S m => P m t + (- t) ^ n / INR (fact n) end.
Lemma P_0 n : P n 0 = 1.
Proof. induction n as [|n IH]; [auto|]. change (P n 0 + (- 0) ^ S n / INR (fact (S n)) = 1).
  rewrite IH, Ropp_0, pow_i by lia. unfold Rdiv; ring. Qed.
Lemma P_derive n t : is_derive (P (S n)) t (- P n t).
Proof. revert t; induction n as [|n IH]; intros t.
  - simpl. auto_derive; auto. field.
  - apply (is_derive_ext (fun x => P (S n) x + (- x) ^ S (S n) / INR (fact (S (S n))))); [reflexivity|].
    replace (- P (S n) t) with (- P n t + - ((- t) ^ S n / INR (fact (S n)))) by (cbn [P]; ring).
    apply (is_derive_plus (P (S n)) (fun x => (- x) ^ S (S n) / INR (fact (S (S n)))) t); [apply IH|].
    replace (- ((- t) ^ S n / INR (fact (S n)))) with (INR (S (S n)) * - (1) * (- t) ^ S n * / INR (fact (S (S n)))).
    + apply (is_derive_ext (fun x => / INR (fact (S (S n))) * (- x) ^ S (S n))); [intros; unfold Rdiv; apply Rmult_comm|].
      rewrite Rmult_comm. apply (is_derive_scal (fun x => (- x) ^ S (S n))).
      apply (is_derive_pow Ropp (S (S n)) t (- (1))). auto_derive; auto.
    + rewrite (fact_simpl (S n)), mult_INR.
      assert (F := INR_fact_neq_0 (S n)). assert (G : INR (S (S n)) <> 0) by (apply not_0_INR; lia).
      field. auto. Qed.

(* e^-t - P n t has the sign of (-1)^(n+1). *)
Definition gap (n : nat) (t : R) := (-1) ^ S n * (exp (- t) - P n t).
Lemma gap_derive n t : is_derive (gap (S n)) t (gap n t).
Proof. unfold gap. replace ((-1) ^ S n * (exp (- t) - P n t)) with ((-1) ^ S (S n) * (- exp (- t) - - P n t)) by (simpl; ring).
  apply (is_derive_scal (fun x => exp (- x) - P (S n) x)).
  apply (is_derive_minus (fun x => exp (- x)) (P (S n))); [|apply P_derive].
  auto_derive; auto; ring. Qed.
Lemma gap_ge0 n : forall t, 0 <= t -> 0 <= gap n t.
Proof. induction n as [|n IH]; intros t Ht.
  - unfold gap; simpl. assert (exp (- t) <= 1); [|lra].
    rewrite <- exp_0. destruct Ht as [Ht| <-]; [left; apply exp_increasing; lra|rewrite Ropp_0; lra].
  - assert (G0 : gap (S n) 0 = 0) by (unfold gap; rewrite P_0, Ropp_0, exp_0; ring).
    destruct Ht as [Ht| <-]; [|lra].
    destruct (MVT_gen (gap (S n)) 0 t (gap n)) as [c [Hc E]].
    + intros x _; apply gap_derive.
    + intros x _. apply continuity_pt_filterlim. apply (ex_derive_continuous (gap (S n))).
      eexists; apply gap_derive.
    + rewrite Rmin_left, Rmax_right in Hc by lra. specialize (IH c (proj1 Hc)). rewrite G0 in E. nra. Qed.

Open Scope Z_scope.
(* (N, D, T): the n-th sum at t = p/q is N/D, and T = (-p)^n. *)
Fixpoint taylor (p q : Z) (n : nat) : Z * Z * Z :=
  match n with
  | O => (1, 1, 1)
  | S m => let '(N, D, T) := taylor p q m in
      let f := q * Z.of_nat n in (N * f - T * p, D * f, - (T * p))
  end.
Definition odd_order : nat := 39.
Definition even_order : nat := 40.
Definition ceiling (a b : Z) := - ((- a) / b).
(* exp_below <= 2^B e^(-p/q) <= exp_above *)
Definition exp_below (B p q : Z) : Z :=
  let '(N, D, _) := taylor p q odd_order in Z.max 0 ((2 ^ B * N) / D).
Definition exp_above (B p q : Z) : Z :=
  let '(N, D, _) := taylor p q even_order in ceiling (2 ^ B * N) D.

Open Scope R_scope.
Lemma taylor_ok p q n : (0 < q)%Z -> let '(N, D, T) := taylor p q n in
  (0 < D)%Z /\ P n (IZR p / IZR q) = IZR N / IZR D
  /\ IZR T / IZR D = (- (IZR p / IZR q)) ^ n / INR (fact n).
Proof. intros Hq. assert (Q : IZR q <> 0) by (apply not_0_IZR; lia). induction n as [|n IH].
  { simpl. split; [lia|split; field]. }
  destruct (taylor p q n) as [[N D] T] eqn:X.
  assert (Y : taylor p q (S n) = (N * (q * Z.of_nat (S n)) - T * p, D * (q * Z.of_nat (S n)), - (T * p))%Z)
    by (cbn [taylor]; now rewrite X). rewrite Y. clear X Y. destruct IH as [H1 [H2 H3]].
  assert (K : (0 < q * Z.of_nat (S n))%Z) by lia. assert (HD : IZR D <> 0) by (apply not_0_IZR; lia).
  assert (HS : INR (S n) <> 0) by (apply not_0_INR; lia). assert (F := INR_fact_neq_0 n).
  assert (T3 : IZR (- (T * p)) / IZR (D * (q * Z.of_nat (S n))) = (- (IZR p / IZR q)) ^ S n / INR (fact (S n))).
  { rewrite fact_simpl, mult_INR, opp_IZR, !mult_IZR, <- INR_IZR_INZ.
    replace ((- (IZR p / IZR q)) ^ S n / (INR (S n) * INR (fact n)))
      with (((- (IZR p / IZR q)) ^ n / INR (fact n)) * (- (IZR p / IZR q)) / INR (S n)) by (simpl pow; field; auto).
    rewrite <- H3. field. auto. }
  split; [nia|split; [|exact T3]].
  change (P n (IZR p / IZR q) + (- (IZR p / IZR q)) ^ S n / INR (fact (S n)) =
          IZR (N * (q * Z.of_nat (S n)) - T * p) / IZR (D * (q * Z.of_nat (S n)))).
  rewrite <- T3, H2, opp_IZR, minus_IZR, !mult_IZR, <- INR_IZR_INZ. field. auto. Qed.

Lemma div_le a b : (0 < b)%Z -> IZR (a / b) <= IZR a / IZR b.
Proof. intros Hb. assert (0 < IZR b) by (apply IZR_lt; auto). apply Rmult_le_reg_r with (IZR b); auto.
  unfold Rdiv; rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. rewrite <- mult_IZR. apply IZR_le.
  rewrite Z.mul_comm; apply Z.mul_div_le; auto. Qed.
Lemma ceiling_ge a b : (0 < b)%Z -> IZR a / IZR b <= IZR (ceiling a b).
Proof. intros Hb. unfold ceiling. rewrite opp_IZR. assert (H := div_le (- a) b Hb).
  rewrite opp_IZR in H. unfold Rdiv in *. lra. Qed.
Lemma IZR_pow2 B : (0 <= B)%Z -> IZR (2 ^ B) = powerRZ 2 B /\ 0 < IZR (2 ^ B).
Proof. intros. assert (0 < 2 ^ B)%Z by (apply Z.pow_pos_nonneg; lia). split; [|now apply IZR_lt].
  rewrite <- (Z2Nat.id B) by auto. rewrite <- pow_IZR. rewrite <- pow_powerRZ. reflexivity. Qed.

Theorem exp_below_ok B p q : (0 <= B)%Z -> (0 <= p)%Z -> (0 < q)%Z ->
  0 <= IZR (exp_below B p q) <= IZR (2 ^ B) * exp (- (IZR p / IZR q)).
Proof. intros HB Hp Hq. unfold exp_below. assert (H := taylor_ok p q odd_order Hq).
  destruct (taylor p q odd_order) as [[N D] T]. destruct H as [H1 [H2 _]].
  assert (X := proj2 (IZR_pow2 B HB)).
  assert (Q : 0 <= IZR p / IZR q) by (apply Rmult_le_pos; [now apply IZR_le|left; apply Rinv_0_lt_compat; now apply IZR_lt]).
  assert (G := gap_ge0 odd_order _ Q). unfold gap in G. rewrite H2 in G. unfold odd_order in G.
  replace ((-1) ^ 40) with 1 in G by (simpl; ring).
  split; [apply IZR_le; lia|]. apply Z.max_case_strong; intros _.
  - left; apply Rmult_lt_0_compat; auto; apply exp_pos.
  - eapply Rle_trans; [apply div_le; auto|]. rewrite mult_IZR. unfold Rdiv in *; rewrite Rmult_assoc.
    apply Rmult_le_compat_l; lra. Qed.
Theorem exp_above_ok B p q : (0 <= B)%Z -> (0 <= p)%Z -> (0 < q)%Z ->
  IZR (2 ^ B) * exp (- (IZR p / IZR q)) <= IZR (exp_above B p q).
Proof. intros HB Hp Hq. unfold exp_above. assert (H := taylor_ok p q even_order Hq).
  destruct (taylor p q even_order) as [[N D] T]. destruct H as [H1 [H2 _]].
  assert (X := proj2 (IZR_pow2 B HB)).
  assert (Q : 0 <= IZR p / IZR q) by (apply Rmult_le_pos; [now apply IZR_le|left; apply Rinv_0_lt_compat; now apply IZR_lt]).
  assert (G := gap_ge0 even_order _ Q). unfold gap in G. rewrite H2 in G. unfold even_order in G.
  replace ((-1) ^ 41) with (-1) in G by (simpl; ring).
  eapply Rle_trans; [|apply ceiling_ge; auto]. rewrite mult_IZR. unfold Rdiv in *; rewrite Rmult_assoc.
  apply Rmult_le_compat_l; lra. Qed.
