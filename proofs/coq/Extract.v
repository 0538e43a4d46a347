(* 14. The checker as an OCaml program.

   Big numbers are Coq's binary natural numbers, which the standard library's directives ExtrOcamlZBigInt map to
   zarith; ExtrOcamlBasic maps bool, option, pairs and lists to OCaml's own.  There are no directives of ours.
   What is trusted when the program says "accepted": Coq's extraction, these two files of directives, zarith,
   the OCaml compiler, and checker_main.ml, which reads the numbers. *)
Require Import Reals ZArith List Lia Bool.
From VerifiedDP Require Import Law HockeyStick Kronecker Checker Link Integral SampledGaussian.
Require Import ExtrOcamlBasic ExtrOcamlZBigInt.
Import ListNotations.
Open Scope Z_scope.

Definition shl_N (b : N) (n : Z) : N := N.shiftl b (Z.to_N n).
Definition high_N (b : N) (n : Z) : N := N.shiftr b (Z.to_N n).
Definition low_N (b : N) (n : Z) : N := N.sub b (shl_N (high_N b n) n).
Definition product_N : list Z -> list Z -> list Z := product N Z.to_N Z.of_N N.add N.mul shl_N low_N high_N.
Definition accept_N : problem -> bool := accept product_N.

Lemma shl_N_ok b n : 0 <= n -> Z.of_N (shl_N b n) = Z.of_N b * 2 ^ n.
Proof. intros. unfold shl_N. rewrite N.shiftl_mul_pow2, N2Z.inj_mul, N2Z.inj_pow, Z2N.id by lia. reflexivity. Qed.
Lemma high_N_ok b n : 0 <= n -> Z.of_N (high_N b n) = Z.of_N b / 2 ^ n.
Proof. intros. unfold high_N. rewrite N.shiftr_div_pow2, N2Z.inj_div, N2Z.inj_pow, Z2N.id by lia. reflexivity. Qed.
Lemma low_N_ok b n : 0 <= n -> Z.of_N (low_N b n) = Z.of_N b mod 2 ^ n.
Proof. intros. assert (P : 0 < 2 ^ n) by (apply Z.pow_pos_nonneg; lia).
  assert (D := Z.div_mod (Z.of_N b) (2 ^ n) ltac:(lia)). assert (M := Z.mod_pos_bound (Z.of_N b) (2 ^ n) P).
  unfold low_N. rewrite N2Z.inj_sub_max, shl_N_ok, high_N_ok by auto. lia. Qed.
Lemma product_N_ok a b : a <> [] -> b <> [] -> nnv a -> nnv b ->
  exists n, product_N a b = mulv a b ++ repeat 0 n.
Proof. apply product_ok with (val := Z.of_N); auto using N2Z.is_nonneg, Z2N.id, N2Z.inj_add, N2Z.inj_mul, shl_N_ok,
  low_N_ok, high_N_ok. Qed.

(* What "accepted" means. *)
Theorem accepted_above p : accept_N p = true -> direction p = Above ->
  (delta (epsilon_of p) (composed p) <= IZR (bound p) / unit_of p)%R.
Proof. apply accept_above, product_N_ok. Qed.
Theorem accepted_below p : accept_N p = true -> direction p = Below ->
  (IZR (bound p) / unit_of p <= delta (epsilon_of p) (composed p))%R.
Proof. apply accept_below, product_N_ok. Qed.

(* The same in the words of privacy: adaptive steps with any kind of outputs (finite sums, or integrals over the line).
   If every step is dominated by its one-step law of the problem, acceptance proves (eps, bound/2^B)-privacy ... *)
Theorem accepted_private {T} (A : integral T) (P Q : list T -> T -> R) (p : problem) test u v :
  (forall h, 0 <= test h <= 1)%R -> all_bounded A P Q (steps_of p) [] ->
  accept_N p = true -> direction p = Above ->
  let k := length (steps_of p) in expect A P test k [] u -> expect A Q test k [] v ->
  (u <= exp (epsilon_of p) * v + IZR (bound p) / unit_of p)%R.
Proof. intros Ht HB HA Hd k HU HV. apply (adaptive_test A P Q test (steps_of p)); auto.
  - now apply (accept_nonneg product_N).
  - now apply accepted_above. Qed.
(* ... and if the step's loss dominates it, k independent steps are not (eps, d)-private for any d < bound/2^B. *)
Theorem accepted_not_private {T} (P Q : T -> R) (l : list T) (p : problem) (k : positive) (a : ilaw) (d : R) :
  (forall x, 0 <= P x)%R -> (forall x, 0 <= Q x)%R -> kinds p = [{| count := Zpos k; step_law := a |}] ->
  dom (law_of (grid_step p) (unit_of p) a) (pld P Q l) ->
  accept_N p = true -> direction p = Below -> (d < IZR (bound p) / unit_of p)%R ->
  let n := Pos.to_nat k in
  ~ forall ev, (prob (powD P n) ev (pows l n) <= exp (epsilon_of p) * prob (powD Q n) ev (pows l n) + d)%R.
Proof. intros HP HQ HK HD HA Hd Hb n H. apply HS_dp in H. rewrite pow_exact in H by auto.
  assert (K := accepted_below p HA Hd). assert (N := accept_nonneg product_N p HA). apply (Rlt_irrefl d).
  eapply Rlt_le_trans; [exact Hb|]. eapply Rle_trans; [exact K|]. eapply Rle_trans; [|exact H].
  unfold composed. unfold steps_of in *. rewrite HK in *. cbn [laws_of flat_map count step_law Z.to_nat] in *. rewrite app_nil_r in *.
  rewrite compose_repeat. apply dom_kfold; auto using nonneg_pld. fold n in N. unfold unit_of in *.
  assert (NK : (0 < n)%nat) by apply Pos2Nat.is_pos. destruct n; [lia|]. now inversion N. Qed.

(* ---------- the whole program ---------- *)
(* For each kind: nothing more (its law is given), or a sampled Gaussian step that its law must be found above. *)
Definition same_order (o : option order) (g : gaussian_step) : bool :=
  match o, in_order g with Some Remove, Remove | Some Add, Add => true | _, _ => false end.
Definition found (o : option order) (p : problem) (k : kind) (g : gaussian_step) : bool :=
  match direction p with Above => true | Below => false end && same_order o g
  && covers g (h_num p) (h_den p) (bits p) (step_law k).
Fixpoint all_found (o : option order) (p : problem) (ks : list kind) (gs : list (option gaussian_step)) : bool :=
  match ks, gs with
  | [], [] => true
  | _ :: ks, None :: gs => all_found o p ks gs
  | k :: ks, Some g :: gs => found o p k g && all_found o p ks gs
  | _, _ => false
  end.
Definition decide (o : option order) (p : problem) (gs : list (option gaussian_step)) : bool :=
  accept_N p && all_found o p (kinds p) gs.
Lemma found_ok o p k g : found (Some o) p k g = true -> direction p = Above /\ in_order g = o
  /\ covers g (h_num p) (h_den p) (bits p) (step_law k) = true.
Proof. unfold found, same_order. intros H. apply andb_prop in H as [H C]. apply andb_prop in H as [D O].
  destruct (direction p), o, (in_order g); auto; discriminate. Qed.

Extraction Language OCaml.
Extraction "checker.ml" decide.
