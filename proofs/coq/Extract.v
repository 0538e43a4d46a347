(* 14. The checker as an OCaml program.

   Big numbers are Coq's binary natural numbers, which the standard library's directives ExtrOcamlZBigInt map to
   zarith; ExtrOcamlBasic maps bool, option, pairs and lists to OCaml's own, ExtrOcamlNativeString the names of fields.
   There are no directives of ours.
   The program also tells, field by field, which problem it decided (`told`); no two problems are told alike
   (told_all).  So whoever compares that with the problem that was meant need not trust what read it.
   What is trusted when the program says "accepted": Coq's extraction, these files of directives, zarith, the OCaml
   compiler, and that checker_main.ml prints what `answer` gives. *)
Require Import String Reals ZArith List Lia Bool.
From VerifiedDP Require Import Law HockeyStick Kronecker Checker Link Integral SampledGaussian Events Guaranteed Laplace Zcdp.
Require Import ExtrOcamlBasic ExtrOcamlZBigInt ExtrOcamlNativeString.
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
(* For each kind: nothing more (its law is given), or a step that its law must be found above (below): a sampled Gaussian,
   or above one of which a guarantee is stated.  Steps with bounded Renyi divergences have no law.  A record in place of
   another: a sampled Gaussian (Replacement), or one on a batch of a fixed size (Batch), above both orders of the step at
   twice the distance; their order says nothing. *)
Inductive stated := Gaussian (g : gaussian_step) | Guarantee (g : guaranteed_step) | Zcdp (z : zcdp_steps)
  | Replacement (g : gaussian_step) | Batch (g : gaussian_step) (added : list Z).
Definition order_of (s : stated) : order :=
  match s with Gaussian g | Replacement g | Batch g _ => in_order g | Guarantee g => g_order g | Zcdp z => z_order z end.
Definition with_tests (g : gaussian_step) (ts : list Z) := {| in_order := in_order g; q_num := q_num g; q_den := q_den g;
  sigma_num := sigma_num g; sigma_den := sigma_den g; precision := precision g; terms := terms g; far := far g; tests := ts |}.
(* whether a step's law was found above its curve *)
Definition law_above (s : stated) (h_num h_den B : Z) (v : ilaw) : bool :=
  match s with
  | Gaussian g => covers g h_num h_den B v
  | Guarantee g => covers_guarantee g h_num h_den B v
  | Zcdp _ => false
  | Replacement g => covers_way Replaced g h_num h_den B v
  | Batch g ts => covers_way Remove g h_num h_den B v && covers_way Add (with_tests g ts) h_num h_den B v
  end.
Definition same_order (o : option order) (s : stated) : bool :=
  match o, order_of s with Some Remove, Remove | Some Add, Add => true | _, _ => false end.
Definition found (o : option order) (p : problem) (k : kind) (s : stated) : bool :=
  match direction p with Above => true | Below => false end && same_order o s
  && law_above s (h_num p) (h_den p) (bits p) (step_law k).
Definition found_below (o : option order) (p : problem) (k : kind) (s : stated) : bool :=
  match direction p with Above => false | Below => true end && same_order o s
  && match s with
     | Gaussian g => covers_below g (h_num p) (h_den p) (bits p) (step_law k)
     | Replacement g => covers_below_way g Replaced (h_num p) (h_den p) (bits p) (step_law k)
     | Guarantee g => covers_laplace_below g (h_num p) (h_den p) (bits p) (step_law k) || covers_discrete_below g (h_num p) (h_den p) (bits p) (step_law k)
     | _ => false
     end.
Fixpoint all_found (f : kind -> stated -> bool) (ks : list kind) (ss : list (option stated)) : bool :=
  match ks, ss with
  | [], [] => true
  | _ :: ks, None :: ss => all_found f ks ss
  | k :: ks, Some s :: ss => f k s && all_found f ks ss
  | _, _ => false
  end.
Definition decide (o : option order) (p : problem) (ss : list (option stated)) : bool :=
  accept_N p && all_found (found o p) (kinds p) ss.
Definition decide_below (o : option order) (p : problem) (ss : list (option stated)) : bool :=
  accept_N p && all_found (found_below o p) (kinds p) ss.
(* With no kinds: one Gaussian step at eps, by one event, one step of finitely many outputs or of noise, or all steps with
   bounded Renyi divergences, by one moment. *)
Definition decide_event (o : option order) (p : problem) (g : gaussian_step) : bool := same_order o (Gaussian g) && by_event g p.
Definition judge (o : option order) (p : problem) (ss : list (option stated)) : bool :=
  match kinds p, ss with
  | [], [Some (Gaussian g)] => decide_event o p g
  | [], [Some (Zcdp z)] => same_order o (Zcdp z) && by_moment z p
  | [], [Some (Guarantee g)] => same_order o (Guarantee g) && (by_outputs g p || by_noise g p)
  | [], _ => false
  | _, _ => match direction p with Above => decide o p ss | Below => decide_below o p ss end
  end.
Lemma judge_above o p ss : kinds p <> [] -> direction p = Above -> judge o p ss = decide o p ss.
Proof. unfold judge. intros N D. rewrite D. destruct (kinds p); [easy|]. now destruct ss as [|[[]|]]. Qed.
Lemma judge_below o p ss : kinds p <> [] -> direction p = Below -> judge o p ss = decide_below o p ss.
Proof. unfold judge. intros N D. rewrite D. destruct (kinds p); [easy|]. now destruct ss as [|[[]|]]. Qed.
Lemma same_order_ok o s : same_order (Some o) s = true -> order_of s = o.
Proof. unfold same_order. destruct o, (order_of s); auto; discriminate. Qed.
Lemma found_ok o p k s : found (Some o) p k s = true -> direction p = Above /\ order_of s = o
  /\ law_above s (h_num p) (h_den p) (bits p) (step_law k) = true.
Proof. unfold found. intros H. apply andb_prop in H as [H C]. apply andb_prop in H as [D O].
  apply same_order_ok in O. destruct (direction p); auto; discriminate. Qed.
Definition gaussian_way (w : way) (g : gaussian_step) := match w with Moved _ => Gaussian g | Replaced => Replacement g end.
(* the order of a problem about this pair *)
Definition fits (w : way) (o : order) := match w with Moved o' => o' = o | Replaced => True end.
Lemma found_below_ok w o p k g : fits w o -> found_below (Some o) p k (gaussian_way w g) = true ->
  direction p = Below /\ covers_below_way g w (h_num p) (h_den p) (bits p) (step_law k) = true.
Proof. unfold found_below. intros F H. apply andb_prop in H as [H C]. apply andb_prop in H as [D O].
  apply same_order_ok in O. destruct w as [o'|]; cbn [gaussian_way order_of fits] in *; [|destruct (direction p); auto; discriminate].
  unfold covers_below in C. rewrite O, <- F in C. destruct (direction p); auto; discriminate. Qed.

(* ---------- which problem was decided ---------- *)
Definition told_kind (k : kind) : string * list Z :=
  ("kind"%string, count k :: low (step_law k) :: inf (step_law k) :: mass (step_law k)).
Definition told_hint (t : hint) : string * list Z := ("hint"%string, [first_index t; last_index t; sum t; infinity t; coarser t]).
Definition told_gaussian (g : gaussian_step) :=
  q_num g :: q_den g :: sigma_num g :: sigma_den g :: precision g :: terms g :: far g :: tests g.
Definition told_step (s : option stated) : string * list Z :=
  match s with
  | None => ("given"%string, [])
  | Some (Gaussian g) => (match in_order g with Remove => "sampled-remove" | Add => "sampled-add" end%string, told_gaussian g)
  | Some (Guarantee g) => (match g_source g, g_order g with
        | Any, Remove => "guarantee-remove" | Any, Add => "guarantee-add"
        | Laplace_noise, Remove => "laplace-remove" | Laplace_noise, Add => "laplace-add"
        | Outputs _ _, Remove => "outputs-remove" | Outputs _ _, Add => "outputs-add"
        | Whole false _ _ _, Remove => "discrete-laplace-remove" | Whole false _ _ _, Add => "discrete-laplace-add"
        | Whole true _ _ _, Remove => "discrete-gaussian-remove" | Whole true _ _ _, Add => "discrete-gaussian-add" end%string,
      [g_q_num g; g_q_den g; g_eps_num g; g_eps_den g; g_delta_num g; g_delta_den g]
      ++ match g_source g with Outputs ps qs => Z.of_nat (length ps) :: ps ++ qs | Whole _ D reach ts => D :: reach :: ts | _ => [] end ++ [g_precision g; g_terms g])
  | Some (Zcdp z) => (match z_order z with Remove => "zcdp-remove" | Add => "zcdp-add" end%string,
      [rho_num z; rho_den z; xi_num z; xi_den z; l_num z; l_den z; z_precision z; z_terms z])
  | Some (Replacement g) => (match in_order g with Remove => "replaced-remove" | Add => "replaced-add" end%string, told_gaussian g)
  | Some (Batch g ts) => (match in_order g with Remove => "batch-remove" | Add => "batch-add" end%string,
      q_num g :: q_den g :: sigma_num g :: sigma_den g :: Z.of_nat (length ts) :: ts ++ precision g :: terms g :: far g :: tests g)
  end.
Definition told (o : option order) (p : problem) (ss : list (option stated)) : list (string * list Z) :=
  (match direction p with Above => "above" | Below => "below" end%string, []) :: ("bits"%string, [bits p])
  :: ("epsilon"%string, [eps_num p; eps_den p]) :: ("step"%string, [h_num p; h_den p]) :: map told_kind (kinds p)
  ++ map told_hint (hints p) ++ ("bound"%string, [bound p])
  :: (match o with Some Remove => "order-remove" | Some Add => "order-add" | None => "order-none" end%string, [])
  :: map told_step ss.

Lemma told_kind_one k k' : told_kind k = told_kind k' -> k = k'.
Proof. destruct k as [c [l m i]], k' as [c' [l' m' i']]. cbn. intros E. injection E. intros; subst; auto. Qed.
Lemma told_hint_one t t' : told_hint t = told_hint t' -> t = t'.
Proof. destruct t, t'. cbn. intros E. injection E. intros; subst; auto. Qed.
Lemma apps_one {T} (l : list T) : forall l' r r', length l = length l' -> l ++ r = l' ++ r' -> l = l' /\ r = r'.
Proof. induction l as [|x l IH]; intros [|y l'] r r' L E; try discriminate; auto. injection E as E1 E2. injection L as L.
  destruct (IH l' r r' L E2). split; congruence. Qed.
(* two lists, the first of a known length, and two numbers *)
Lemma lists_one (ps qs ps' qs' : list Z) w n w' n' : length ps = length ps' -> (ps ++ qs) ++ [w; n] = (ps' ++ qs') ++ [w'; n'] ->
  ps = ps' /\ qs = qs' /\ w = w' /\ n = n'.
Proof. intros L E. change [w; n] with ([w] ++ [n]) in E. change [w'; n'] with ([w'] ++ [n']) in E. rewrite !(app_assoc (_ ++ _)) in E.
  apply app_inj_tail in E as [E N]. apply app_inj_tail in E as [E W]. rewrite <- (app_nil_r ps) in L.
  assert (K : ps = ps' /\ qs = qs').
  { rewrite app_nil_r in L. clear N W. revert ps' L E. induction ps as [|p ps IH]; intros [|p' ps'] L E; try discriminate; auto.
    injection E as E1 E2. injection L as L. destruct (IH ps' L E2). split; congruence. }
  destruct K; auto. Qed.
Lemma told_step_one s s' : told_step s = told_step s' -> s = s'.
Proof. destruct s as [[[[]]|[[| |ps qs|[] D k ts] [] a b c d e f w n]|[[]]|[[]]|[[]]]|],
    s' as [[[[]]|[[| |ps' qs'|[] D' k' ts'] [] a' b' c' d' e' f' w' n']|[[]]|[[]]|[[]]]|];
    cbn; intros E; try discriminate; auto; injection E as E; intros; subst; auto;
    match goal with
    | X : (?p ++ _) ++ _ = (?q ++ _) ++ _ |- _ => assert (L : length p = length q) by lia;
        destruct (lists_one _ _ _ _ _ _ _ _ L X) as [? [? [? ?]]]; subst; auto
    | X : ?l ++ [_; _] = ?l' ++ [_; _] |- _ => destruct (lists_one [] _ [] _ _ _ _ _ eq_refl X) as [_ [? [? ?]]]; subst; auto
    | X : ?l ++ _ = ?l' ++ _ |- _ => apply apps_one in X as [? K]; [injection K; intros; subst; auto|lia]
    end. Qed.
Lemma map_one {T U} (f : T -> U) : (forall x y, f x = f y -> x = y) -> forall l l', map f l = map f l' -> l = l'.
Proof. intros H. induction l as [|x l IH]; intros [|y l'] E; try discriminate; auto. injection E as E1 E2. f_equal; auto. Qed.
(* a list of rows of one name, and what comes after them *)
Lemma rows_one {T U} (f : T -> string * U) (name : string) : (forall x, fst (f x) = name) -> (forall x y, f x = f y -> x = y) ->
  forall l l' r r', match r, r' with a :: _, b :: _ => fst a <> name /\ fst b <> name | _, _ => False end ->
  map f l ++ r = map f l' ++ r' -> l = l' /\ r = r'.
Proof. intros N H. induction l as [|x l IH]; intros [|y l'] r r' D E; cbn [map app] in E.
  - auto.
  - exfalso. subst r. destruct r'; [easy|]. destruct D as [D _]. now rewrite N in D.
  - exfalso. subst r'. destruct r; [easy|]. destruct D as [_ D]. now rewrite N in D.
  - injection E as E1 E2. destruct (IH l' r r' D E2) as [E3 E4]. split; auto. f_equal; auto. Qed.
Theorem told_all o p ss o' p' ss' : told o p ss = told o' p' ss' -> o = o' /\ p = p' /\ ss = ss'.
Proof. destruct p as [s B en ed hn hd ks hs b], p' as [s' B' en' ed' hn' hd' ks' hs' b']. unfold told. cbn [direction bits eps_num eps_den h_num h_den kinds hints bound].
  intros E. injection E as E0 E1 E2 E3 E4 E5 E6.
  apply (rows_one told_kind "kind"%string (fun _ => eq_refl) told_kind_one) in E6 as [E6 E7].
  2:{ destruct hs, hs'; cbn; split; discriminate. }
  apply (rows_one told_hint "hint"%string (fun _ => eq_refl) told_hint_one) in E7 as [E7 E8]; [|cbn; split; discriminate].
  injection E8 as E8 E9 E10. apply (map_one told_step told_step_one) in E10.
  assert (s = s') by (destruct s, s'; auto; discriminate). assert (o = o') by (destruct o as [[]|], o' as [[]|]; auto; discriminate).
  subst; auto. Qed.

(* What the program prints: which problem it decided, and how. *)
Definition answer (o : option order) (p : problem) (ss : list (option stated)) := (told o p ss, judge o p ss).
Theorem answer_ok o p ss o' p' ss' : answer o p ss = (told o' p' ss', true) -> judge o' p' ss' = true.
Proof. unfold answer. intros E. assert (E1 := f_equal fst E). assert (E2 := f_equal snd E). cbn [fst snd] in E1, E2.
  destruct (told_all _ _ _ _ _ _ E1) as [-> [-> ->]]. exact E2. Qed.

Extraction Language OCaml.
Extraction "checker.ml" answer.
