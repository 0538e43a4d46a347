(* 13d. Steps of which Renyi divergences are bounded, of every order (zCDP) or of one, and a program that bounds all of
   them by one moment.

   If the divergences of order 1 + l of all steps add up to at most xi + rho (1 + l), then
     delta eps <= l^l / (1+l)^(1+l) e^(l (xi + rho (1 + l)) - l eps)                 (Moments.v)
   for every l > 0.  `by_moment` compares that with a bound, with l = a / r a hint: to the r-th power all is rational but
   one exponential. *)
Require Import Reals ZArith List Lra Lia Bool.
From VerifiedDP Require Import Law Chernoff Kronecker Exponential Checker Link Enclosures SampledGaussian.
Open Scope Z_scope.

Record zcdp_steps := {
  z_order : order; rho_num : Z; rho_den : Z; xi_num : Z; xi_den : Z; l_num : Z; l_den : Z; z_precision : Z; z_terms : Z }.
Definition by_moment (z : zcdp_steps) (b : problem) : bool :=
  let a := l_num z in let r := l_den z in let W := z_precision z in
  let n := a * (eps_num b * xi_den z - xi_num z * eps_den b) * rho_den z * r - rho_num z * a * (a + r) * eps_den b * xi_den z in
  let d := eps_den b * xi_den z * rho_den z * r in
  match direction b with Above => true | Below => false end
  && (0 <? a) && (0 <? r) && (0 <=? W) && (0 <=? z_terms z) && (0 <? rho_den z) && (0 <? xi_den z) && (0 <? eps_den b) && (0 <? bits b)
  && (0 <=? bound b) && (0 <=? n)
  && (a ^ a * r ^ r * (2 ^ bits b) ^ r * unit W <=? bound b ^ r * (a + r) ^ (a + r) * fst (expo W (z_terms z) (quotient_range W n d))).

Open Scope R_scope.
Definition rho_of (z : zcdp_steps) : R := IZR (rho_num z) / IZR (rho_den z).
Definition xi_of (z : zcdp_steps) : R := IZR (xi_num z) / IZR (xi_den z).
Definition l_of (z : zcdp_steps) : R := IZR (l_num z) / IZR (l_den z).
Lemma pow_strict x y n : 0 <= x < y -> x ^ Datatypes.S n < y ^ Datatypes.S n.
Proof. intros H. induction n as [|n IH]; [simpl; lra|]. cbn [pow] in *. assert (0 <= x * x ^ n) by (apply Rmult_le_pos; [lra|apply pow_le; lra]).
  apply Rle_lt_trans with (y * (x * x ^ n)); [apply Rmult_le_compat_r; lra|]. apply Rmult_lt_compat_l; lra. Qed.
Lemma pow_root x y n : (0 < n)%nat -> 0 <= x -> 0 <= y -> x ^ n <= y ^ n -> x <= y.
Proof. intros N X Y H. destruct n as [|n]; [lia|]. apply Rnot_lt_le. intros L. assert (K := pow_strict y x n (conj Y L)). lra. Qed.
Lemma exp_power x n : 0 < x -> exp (INR n * ln x) = x ^ n.
Proof. intros H. exact (Rpower_pow n x H). Qed.
Lemma exp_times n x : exp (INR n * x) = exp x ^ n.
Proof. rewrite <- exp_power by apply exp_pos. now rewrite ln_exp. Qed.
Theorem by_moment_ok z b : by_moment z b = true -> direction b = Above /\ let l := l_of z in 0 < l /\
  C l * exp (l * (xi_of z + rho_of z * (l + 1))) * exp (- l * epsilon_of b) <= IZR (bound b) / unit_of b.
Proof. unfold by_moment, l_of. cbv zeta. intros T. apply andb_prop in T as [T K]. do 10 (apply andb_prop in T as [T ?]).
  destruct (direction b); [split; [auto|]|discriminate].
  repeat match goal with X : (_ <? _)%Z = true |- _ => apply Z.ltb_lt in X | X : (_ <=? _)%Z = true |- _ => apply Z.leb_le in X end.
  set (a := l_num z) in *. set (r := l_den z) in *. set (W := z_precision z) in *. set (n := (_ - _)%Z) in *. set (d := (eps_den b * xi_den z * rho_den z * r)%Z) in *.
  assert (HW : (0 <= W)%Z) by auto. assert (D0 : (0 < d)%Z) by (unfold d; repeat apply Z.mul_pos_pos; auto).
  destruct (expo_ok W HW (z_terms z) (quotient_range W n d) (IZR n / IZR d) ltac:(auto) (quotient_range_ok W HW n d ltac:(auto) D0)) as [[_ [X1 _]] X3].
  rewrite (unit_pow W) in X1. assert (UR := unit_gt0 W HW). set (X := fst (expo _ _ _)) in *.
  assert (XP : (0 < X)%Z) by (assert (0 < 2 ^ W)%Z by (apply Z.pow_pos_nonneg; lia); lia). apply IZR_lt in XP.
  assert (AR : 0 < IZR a) by (apply IZR_lt; auto). assert (RR : 0 < IZR r) by (apply IZR_lt; auto).
  split; [now apply Rdiv_lt_0_compat|]. set (l := IZR a / IZR r). assert (L0 : 0 < l) by now apply Rdiv_lt_0_compat.
  set (k := Z.to_nat r). set (m := Z.to_nat a). assert (KR : INR k = IZR r) by (unfold k; rewrite INR_IZR_INZ, Z2Nat.id by lia; auto).
  assert (MA : INR m = IZR a) by (unfold m; rewrite INR_IZR_INZ, Z2Nat.id by lia; auto).
  assert (ER : 0 < IZR (eps_den b)) by (apply IZR_lt; auto). assert (XR : 0 < IZR (xi_den z)) by (apply IZR_lt; auto). assert (QR : 0 < IZR (rho_den z)) by (apply IZR_lt; auto).
  assert (BU : 0 < unit_of b) by (unfold unit_of; apply IZR_lt, Z.pow_pos_nonneg; lia).
  set (y := IZR n / IZR d) in *. assert (YE : - (IZR r * (l * (xi_of z + rho_of z * (l + 1)) + - l * epsilon_of b)) = y).
  { unfold y, n, d, l, xi_of, rho_of, epsilon_of. rewrite minus_IZR, !mult_IZR, minus_IZR, !mult_IZR, plus_IZR. field. repeat split; lra. }
  assert (PW : forall x i, (0 <= i)%Z -> IZR (x ^ i) = IZR x ^ Z.to_nat i).
  { intros x i Hi. rewrite <- (Z2Nat.id i) at 1 by auto. symmetry. apply pow_IZR. }
  apply IZR_le in K. rewrite !mult_IZR, !PW in K by lia. fold k m in K. replace (Z.to_nat (a + r)) with (m + k)%nat in K by (unfold m, k; lia). rewrite plus_IZR in K.
  replace (IZR 2 ^ Z.to_nat (bits b)) with (unit_of b) in K by (unfold unit_of; rewrite PW by lia; reflexivity).
  apply (pow_root _ _ k); [unfold k; lia|left; apply Rmult_lt_0_compat; [apply Rmult_lt_0_compat; [apply C_pos|apply exp_pos]|apply exp_pos]|
    apply Rmult_le_pos; [apply IZR_le; auto|left; now apply Rinv_0_lt_compat]|].
  rewrite Rmult_assoc, <- exp_plus, C_exp, <- exp_plus, <- exp_times, KR.
  replace (IZR r * (l * ln l - (1 + l) * ln (1 + l) + (l * (xi_of z + rho_of z * (l + 1)) + - l * epsilon_of b)))
    with (INR m * ln l + - (INR (m + k) * ln (1 + l)) + - y).
  2:{ rewrite <- YE, plus_INR, MA, KR. unfold l. field. lra. }
  rewrite !exp_plus, exp_Ropp, !exp_power, (exp_Ropp y) by lra.
  assert (EY : / exp y <= IZR (unit W) / IZR X).
  { assert (E := exp_pos y). apply Rmult_le_reg_r with (exp y * IZR X); [now apply Rmult_lt_0_compat|].
    replace (/ exp y * (exp y * IZR X)) with (IZR X) by (field; lra). replace (IZR (unit W) / IZR X * (exp y * IZR X)) with (IZR (unit W) * exp y) by (field; lra). auto. }
  assert (L1 : 1 + l = (IZR a + IZR r) / IZR r) by (unfold l; field; lra).
  assert (PQ : l ^ m * / (1 + l) ^ (m + k) = IZR a ^ m * IZR r ^ k / (IZR a + IZR r) ^ (m + k)).
  { rewrite L1. unfold l, Rdiv. rewrite !Rpow_mult_distr, !pow_inv by lra. rewrite (pow_add (IZR r)). field.
    repeat split; apply pow_nonzero; lra. }
  rewrite PQ. assert (SP : 0 < (IZR a + IZR r) ^ (m + k)) by (apply pow_lt; lra). assert (UP : 0 < unit_of b ^ k) by now apply pow_lt.
  assert (AP : 0 < IZR a ^ m * IZR r ^ k) by (apply Rmult_lt_0_compat; now apply pow_lt).
  apply Rle_trans with (IZR a ^ m * IZR r ^ k / (IZR a + IZR r) ^ (m + k) * (IZR (unit W) / IZR X)).
  - apply Rmult_le_compat_l; [left; now apply Rdiv_lt_0_compat|auto].
  - replace ((IZR (bound b) / unit_of b) ^ k) with (IZR (bound b) ^ k * / unit_of b ^ k) by (unfold Rdiv; rewrite Rpow_mult_distr, pow_inv; lra).
    apply Rmult_le_reg_r with ((IZR a + IZR r) ^ (m + k) * IZR X * unit_of b ^ k);
      [repeat apply Rmult_lt_0_compat; auto|].
    replace (IZR a ^ m * IZR r ^ k / (IZR a + IZR r) ^ (m + k) * (IZR (unit W) / IZR X) * ((IZR a + IZR r) ^ (m + k) * IZR X * unit_of b ^ k))
      with (IZR a ^ m * IZR r ^ k * unit_of b ^ k * IZR (unit W)) by (field; lra).
    replace (IZR (bound b) ^ k * / unit_of b ^ k * ((IZR a + IZR r) ^ (m + k) * IZR X * unit_of b ^ k)) with (IZR (bound b) ^ k * (IZR a + IZR r) ^ (m + k) * IZR X)
      by (field; lra). exact K. Qed.
