// A glossy vase on a chequered floor under a clouded sky: the kind of scene that ray tracers were compared with around 1998.
#version 3.7;
global_settings { assumed_gamma 1.0 max_trace_level 8 }
camera { location <0, 2.6, -7> look_at <0, 1.6, 0> angle 45 }
light_source { <-8, 12, -10> rgb 1 }
light_source { <10, 6, -6> rgb 0.4 }
sky_sphere {
  pigment {
    bozo turbulence 0.65 octaves 6 omega 0.7 lambda 2
    color_map { [0.0 rgb <0.85, 0.85, 0.9>] [0.4 rgb <0.6, 0.7, 0.95>] [1.0 rgb <0.25, 0.4, 0.85>] }
    scale <0.6, 0.3, 0.6>
  }
}
plane {
  y, 0
  pigment { checker rgb <0.9, 0.88, 0.8> rgb <0.35, 0.2, 0.12> }
  finish { reflection 0.15 ambient 0.1 diffuse 0.7 }
}
lathe {
  cubic_spline 8,
  <0.0, -0.2>, <0.7, 0.0>, <1.1, 0.7>, <1.3, 1.4>, <0.9, 2.2>, <0.45, 2.8>, <0.65, 3.3>, <0.8, 3.5>
  pigment {
    marble turbulence 0.8 scale 0.6
    color_map { [0.0 rgb <0.15, 0.25, 0.6>] [0.6 rgb <0.5, 0.6, 0.9>] [1.0 rgb 0.95] }
  }
  finish { phong 0.9 phong_size 60 reflection 0.25 ambient 0.1 diffuse 0.6 }
}
torus { 0.8, 0.07 translate <0, 3.5, 0> pigment { rgb <0.9, 0.75, 0.3> } finish { reflection 0.4 phong 1 } }
